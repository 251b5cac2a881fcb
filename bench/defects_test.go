package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// defective is a store that is wrong on purpose.
type defective struct {
	store
	onAppend func(ctx context.Context, w writer, m message) (receipt, error)
	onRead   func(r record) record
}

func (d defective) writer(ctx context.Context, key session.Key, shared bool) (writer, error) {
	w, err := d.store.writer(ctx, key, shared)
	if d.onAppend == nil || err != nil {
		return w, err
	}
	return defectiveWriter{w, d.onAppend}, nil
}

func (d defective) read(ctx context.Context, key session.Key, recent int) (record, error) {
	r, err := d.store.read(ctx, key, recent)
	if d.onRead != nil && err == nil {
		r = d.onRead(r)
	}
	return r, err
}

type defectiveWriter struct {
	writer
	onAppend func(ctx context.Context, w writer, m message) (receipt, error)
}

func (w defectiveWriter) append(ctx context.Context, m message) (receipt, error) {
	return w.onAppend(ctx, w.writer, m)
}

// Each defect must be found by the workloads named, and end the program with 1.
func TestDefectsAreFound(t *testing.T) {
	const memory, state = "goroutines with a session each: 4", "SQLite: " + besideState
	tests := []struct {
		name, only string
		defect     defective
		want       string
	}{
		{"an acknowledged event is not stored", memory, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			if strings.HasSuffix(m.id, "-0") {
				return receipt{seq: 1, attempts: 1}, nil
			}
			return w.append(ctx, m)
		}}, "missing"},
		{"an event is stored twice", memory, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			if _, err := w.append(ctx, m); err != nil {
				return receipt{}, err
			}
			return w.append(ctx, m)
		}}, "surplus"},
		{"an event is stored that was refused", memory, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			_, err := w.append(ctx, m)
			return receipt{attempts: 1}, errors.Join(err, errors.New("refused"))
		}}, "surplus"},
		{"an append is refused", memory, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			if strings.HasSuffix(m.id, "-0") {
				return receipt{attempts: 1}, session.ErrBusy
			}
			return w.append(ctx, m)
		}}, "errors"},
		{"an append is acknowledged under a wrong sequence", memory, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			r, err := w.append(ctx, m)
			r.seq++
			return r, err
		}}, "missing"},
		{"a sequence is left out", memory, defective{onRead: func(r record) record {
			if last := len(r.seqs) - 1; last >= 0 {
				r.seqs[last]++
			}
			return r
		}}, "gaps"},
		{"the head is wrong", memory, defective{onRead: func(r record) record {
			r.head++
			return r
		}}, "gaps"},
		{"an acknowledged key is not stored", state, defective{onAppend: func(ctx context.Context, w writer, m message) (receipt, error) {
			m.delta = nil
			return w.append(ctx, m)
		}}, "lost keys"},
		{"a key of before is lost", state, defective{onRead: func(r record) record {
			delete(r.state, "other-1")
			return r
		}}, "lost keys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"-quick", "-sqlite", "pure", "-only", tt.only}, &stdout, &stderr, func(s store) store {
				d := tt.defect
				d.store = s
				return d
			})
			if code != 1 || !strings.Contains(stderr.String(), tt.want+" (first: ") && !strings.Contains(stderr.String(), tt.want+",") {
				t.Errorf("exit code %d, want 1 and %q in\n%s", code, tt.want, stderr.Bytes())
			}
			if !strings.Contains(stdout.String(), tt.want) {
				t.Errorf("the report does not say %q:\n%s", tt.want, stdout.Bytes())
			}
		})
	}
}

// The events of one writer in another order are found without a store.
func TestDisorderIsFound(t *testing.T) {
	acks := []ack{{id: "0-0", seq: 2}, {id: "0-1", seq: 1}}
	f := compareLog(record{ids: []string{"0-1", "0-0"}, seqs: []int64{1, 2}, head: 2}, [][]ack{acks}, 0)
	if f.Disorder != 1 || f.total() != 1 {
		t.Errorf("faults = %+v, want 1 out of order", f)
	}
}
