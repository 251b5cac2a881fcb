package main

import (
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
)

// newBuyer returns the agent that the user talks to, with all below it:
//
//	buyer             price, approval (answered later)
//	  quote           in sequence
//	    checks        in parallel
//	      stock
//	      delivery
//	    writer        reads from the state what the checks found
func newBuyer() (agent.Agent, error) {
	var m maker
	checks := m.made(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
		Name: "checks", SubAgents: []agent.Agent{
			m.made(llmagent.New(llmagent.Config{Name: "stock", Model: says("7 in stock"), OutputKey: "stock"})),
			m.made(llmagent.New(llmagent.Config{Name: "delivery", Model: says("in 2 days"), OutputKey: "delivery"})),
		},
	}}))
	writer := m.made(llmagent.New(llmagent.Config{
		Name: "writer", Model: repeatsInstruction{},
		Instruction: quotePrefix + "3 desks for {user:name} at {price} {app:currency} each, {stock}, {delivery}.",
	}))
	quote := m.made(sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
		Name: "quote", Description: "Writes a quote.", SubAgents: []agent.Agent{checks, writer},
	}}))
	price := m.tool(functiontool.New(functiontool.Config{
		Name: "price", Description: "Finds the price of an article.",
	}, findPrice))
	approval := m.tool(functiontool.New(functiontool.Config{
		Name: "approval", Description: "Asks for an approval.", IsLongRunning: true,
	}, askApproval))
	buyer := m.made(llmagent.New(llmagent.Config{
		Name: "buyer", Model: buyerModel{}, Tools: []tool.Tool{price, approval}, SubAgents: []agent.Agent{quote},
	}))
	return buyer, m.err
}

// maker keeps the first error of many constructors.
type maker struct{ err error }

func (m *maker) made(a agent.Agent, err error) agent.Agent {
	if m.err == nil {
		m.err = err
	}
	return a
}

func (m *maker) tool(t tool.Tool, err error) tool.Tool {
	if m.err == nil {
		m.err = err
	}
	return t
}

type priceArgs struct {
	Article string `json:"article"`
}

type priceResult struct {
	Price float64 `json:"price"`
}

// findPrice writes state of every scope. What begins with temp: is there for the
// running turn and is not recorded.
func findPrice(ctx agent.Context, args priceArgs) (priceResult, error) {
	const price = 249.90
	for key, value := range map[string]any{
		"price":             price,        // of this session
		"user:last_article": args.Article, // of every session of the user
		"app:last_price":    price,        // of every session of the app
		"temp:asked":        args.Article,
	} {
		if err := ctx.State().Set(key, value); err != nil {
			return priceResult{}, err
		}
	}
	return priceResult{Price: price}, nil
}

type approvalArgs struct {
	Amount float64 `json:"amount"`
}

type approvalResult struct {
	Status string `json:"status"`
}

// askApproval only starts the matter: the answer comes when somebody has decided.
func askApproval(ctx agent.Context, args approvalArgs) (approvalResult, error) {
	return approvalResult{Status: "pending"}, ctx.State().Set("asked_for", args.Amount)
}
