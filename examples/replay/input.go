package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/hansardlog/hansard/session"
)

// input can be read more than once: to import it, and to verify what is stored.
type input struct {
	open func() (io.ReadCloser, error)
	size int64
}

// openInput checks that the input is there; an empty path means the sample.
func openInput(path string) (input, error) {
	if path == "" {
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(sample)), nil }
		return input{open: open, size: int64(len(sample))}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return input{}, err
	}
	if !info.Mode().IsRegular() {
		return input{}, fmt.Errorf("%s is not a regular file: it has to be read twice", path)
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	return input{open: open, size: info.Size()}, nil
}

// badLine is a line of the input that could not be stored, and why.
type badLine struct {
	number int
	err    error
}

func (b badLine) Error() string { return fmt.Sprintf("line %d: %v", b.number, b.err) }

func (b badLine) Unwrap() error { return b.err }

// forEach reads in line by line and calls do with each conversation, several at
// a time. Only the conversations at work are in memory. Lines that hold none,
// and those that do refuses for what they contain, are returned as bad lines in
// the order of the input. Any other error, or the end of ctx, stops the reading
// and is returned once the work at hand has stopped too.
func forEach(ctx context.Context, in input, workers int, do func(context.Context, *conversation) error) ([]badLine, error) {
	file, err := in.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		bad []badLine
	)
	report := func(number int, err error) {
		if ctx.Err() != nil {
			return // what fails now fails because the work is being stopped
		}
		if !isBadInput(err) {
			cancel(fmt.Errorf("line %d: %w", number, err))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		bad = append(bad, badLine{number, err})
	}
	queues := make([]chan *conversation, workers)
	for i := range queues {
		queue := make(chan *conversation, 1)
		queues[i] = queue
		wg.Go(func() {
			for c := range queue {
				if ctx.Err() != nil {
					continue // drain
				}
				if err := do(ctx, c); err != nil {
					report(c.line, err)
				}
			}
		})
	}
	seed := maphash.MakeSeed()
	send := func(c *conversation) {
		// One id always goes to one worker: of two lines with the same id the
		// first in the file is stored and the second is compared with it.
		queue := queues[maphash.String(seed, c.id)%uint64(workers)]
		select {
		case queue <- c:
		case <-ctx.Done():
		}
	}
	err = readLines(ctx, file, send, report)
	for _, queue := range queues {
		close(queue)
	}
	wg.Wait()
	slices.SortFunc(bad, func(a, b badLine) int { return a.number - b.number })
	if ctx.Err() != nil {
		return bad, context.Cause(ctx)
	}
	return bad, err
}

// readLines parses r line by line until its end or the end of ctx. Lines may be
// as long as memory allows: one is one conversation.
func readLines(ctx context.Context, r io.Reader, send func(*conversation), report func(int, error)) error {
	lines := bufio.NewReader(r)
	for number := 1; ctx.Err() == nil; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if c, parseErr := parseConversation(line); parseErr != nil {
				report(number, parseErr)
			} else {
				c.line = number
				send(c)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
	return nil
}

// isBadInput tells what is wrong with a line from what is wrong with the
// database: the one is named and skipped, the other ends the import.
func isBadInput(err error) bool {
	if errors.Is(err, errNoConversation) || errors.Is(err, errDifferent) {
		return true
	}
	return errors.Is(err, session.ErrInvalidArgument)
}
