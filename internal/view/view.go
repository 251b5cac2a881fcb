// Package view computes what a reader may see: which intervals of sequences,
// and how far. It is the one home of the rules for viewers.
package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/hansardlog/hansard/session"
)

// Window is a closed interval of visible sequences.
type Window struct{ From, To int64 }

// View is what one reader sees of a conversation.
type View struct {
	Windows []Window // ascending, disjoint
	Head    int64    // the last visible sequence
	// Former is true for a viewer who is no member now: it sees no session
	// state, and as last change the last event that it may see.
	Former bool
}

// Whole returns the view of a reader who sees everything.
func Whole(head int64) View {
	return View{Windows: []Window{{1, head}}, Head: head}
}

// Of returns the view of a viewer; own are the viewer's periods, in any order.
// ok is false for a stranger. In kind session only the owner is a viewer.
func Of(viewer string, kind session.Kind, owner string, own []session.Period, head int64) (v View, ok bool) {
	if viewer == "" || kind == session.KindSession && viewer == owner {
		return Whole(head), true
	}
	if kind == session.KindSession || len(own) == 0 {
		return View{}, false
	}
	v.Former = true
	for _, p := range own {
		w := Window{p.FromSeq, p.ToSeq}
		if p.ToSeq == 0 {
			w.To, v.Former = head, false
		}
		v.Head = max(v.Head, w.To)
		v.Windows = append(v.Windows, w)
	}
	slices.SortFunc(v.Windows, func(a, b Window) int { return cmp.Compare(a.From, b.From) })
	return v, true
}

// Between returns the parts of the windows between two exclusive bounds; 0 is
// an open bound.
func (v View) Between(after, before int64) []Window {
	if before == 0 {
		before = math.MaxInt64
	}
	var windows []Window
	for _, w := range v.Windows {
		if after >= w.To {
			continue
		}
		w.From, w.To = max(w.From, after+1), min(w.To, before-1)
		if w.From <= w.To {
			windows = append(windows, w)
		}
	}
	return windows
}

// Split cuts windows into ones of at most n sequences.
func Split(windows []Window, n int64) []Window {
	var parts []Window
	for _, w := range windows {
		for ; w.To-w.From >= n; w.From += n {
			parts = append(parts, Window{w.From, w.From + n - 1})
		}
		parts = append(parts, w)
	}
	return parts
}

// Covers reports whether a period covers a sequence.
func Covers(p session.Period, seq int64) bool {
	return p.FromSeq <= seq && (p.ToSeq == 0 || seq <= p.ToSeq)
}
