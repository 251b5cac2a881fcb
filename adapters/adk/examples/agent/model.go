package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/adk/v2/model"
	"google.golang.org/genai"
)

// answer is what a model that has decided gives back.
func answer(content *genai.Content, err error) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: content, TurnComplete: true}, err)
	}
}

// says is a model that always says the same.
type says string

func (says) Name() string { return "scripted" }

func (s says) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return answer(genai.NewContentFromText(string(s), genai.RoleModel), nil)
}

// quotePrefix begins the instruction that [repeatsInstruction] repeats.
const quotePrefix = "Quote: "

// repeatsInstruction is a model that says its instruction, in which ADK has put
// the state's values.
type repeatsInstruction struct{}

func (repeatsInstruction) Name() string { return "scripted" }

func (repeatsInstruction) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	for _, part := range req.Config.SystemInstruction.Parts {
		for line := range strings.Lines(part.Text) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), quotePrefix); ok {
				return answer(genai.NewContentFromText(text, genai.RoleModel), nil)
			}
		}
	}
	return answer(nil, fmt.Errorf("no %q in the instruction", quotePrefix))
}

// buyerModel decides by the last thing that was said.
type buyerModel struct{}

func (buyerModel) Name() string { return "scripted" }

func (buyerModel) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	contents := req.Contents
	if len(contents) == 0 || len(contents[len(contents)-1].Parts) == 0 {
		return answer(nil, fmt.Errorf("nothing was said"))
	}
	parts := contents[len(contents)-1].Parts
	last := parts[len(parts)-1]
	switch result := last.FunctionResponse; {
	case result == nil && strings.Contains(last.Text, "cost"):
		return answer(genai.NewContentFromFunctionCall("price", map[string]any{"article": "desk"}, genai.RoleModel), nil)
	case result == nil && strings.Contains(last.Text, "Order"):
		return answer(genai.NewContentFromFunctionCall("approval", map[string]any{"amount": 749.7}, genai.RoleModel), nil)
	case result == nil:
		return answer(nil, fmt.Errorf("no answer to %q is scripted", last.Text))
	case result.Name == "price":
		return answer(genai.NewContentFromFunctionCall("transfer_to_agent", map[string]any{"agent_name": "quote"}, genai.RoleModel), nil)
	case result.Response["status"] == "pending":
		return answer(genai.NewContentFromText("I asked for an approval.", genai.RoleModel), nil)
	case result.Response["status"] == "approved":
		return answer(genai.NewContentFromText(fmt.Sprintf("%v approved it: 3 desks are ordered.", result.Response["by"]), genai.RoleModel), nil)
	}
	return answer(nil, fmt.Errorf("no answer to %s is scripted", last.FunctionResponse.Name))
}
