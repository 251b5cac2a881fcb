package view

import (
	"math"
	"reflect"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func TestOf(t *testing.T) {
	left := session.Period{Member: "ana", FromSeq: 1, ToSeq: 3}
	back := session.Period{Member: "ana", FromSeq: 7}
	tests := []struct {
		name, viewer string
		kind         session.Kind
		own          []session.Period
		want         View
		ok           bool
	}{
		{"nobody sees all", "", session.KindGroup, nil, Whole(9), true},
		{"owner of a session", "own", session.KindSession, nil, Whole(9), true},
		{"other of a session", "ana", session.KindSession, nil, View{}, false},
		{"owner is no member", "own", session.KindDirect, nil, View{}, false},
		{"stranger", "eve", session.KindGroup, nil, View{}, false},
		{"former", "ana", session.KindGroup, []session.Period{left}, View{[]Window{{1, 3}}, 3, true}, true},
		{"member again", "ana", session.KindGroup, []session.Period{back, left}, View{[]Window{{1, 3}, {7, 9}}, 9, false}, true},
	}
	for _, tt := range tests {
		got, ok := Of(tt.viewer, tt.kind, "own", tt.own, 9)
		if ok != tt.ok || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: Of = %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestBetween(t *testing.T) {
	v := View{Windows: []Window{{1, 3}, {7, 9}}, Head: 9}
	tests := []struct {
		after, before int64
		want          []Window
	}{
		{0, 0, []Window{{1, 3}, {7, 9}}},
		{2, 8, []Window{{3, 3}, {7, 7}}},
		{3, 7, nil},
		{9, 0, nil},
		{0, 1, nil},
		{math.MaxInt64, 0, nil},
		{0, math.MaxInt64, []Window{{1, 3}, {7, 9}}},
	}
	for _, tt := range tests {
		if got := v.Between(tt.after, tt.before); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Between(%d, %d) = %v, want %v", tt.after, tt.before, got, tt.want)
		}
	}
	if got := Whole(0).Between(0, 0); got != nil {
		t.Errorf("an empty log has windows %v", got)
	}
}

func TestSplit(t *testing.T) {
	got := Split([]Window{{1, 10}, {20, 20}, {30, 44}}, 5)
	want := []Window{{1, 5}, {6, 10}, {20, 20}, {30, 34}, {35, 39}, {40, 44}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Split = %v, want %v", got, want)
	}
}
