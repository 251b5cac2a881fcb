package main

import (
	"errors"
	"slices"
)

// cleanup undoes what was opened, the last first.
type cleanup []func() error

func (c *cleanup) later(undo func() error) { *c = append(*c, undo) }

func (c *cleanup) run() error {
	var errs []error
	for _, undo := range slices.Backward(*c) {
		errs = append(errs, undo())
	}
	*c = nil
	return errors.Join(errs...)
}
