package subject_test

import (
	"testing"

	"github.com/busline/busline/bus/subject"
)

func TestCallsBelow(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string][2]string{
		"":            {"bus.443.>", "bus.r.>"},
		"example":     {"bus.443.example.>", "bus.r.example.>"},
		"example.com": {"bus.443.com.example.>", "bus.r.com.example.>"},
	} {
		got := [2]string{subject.CallsBelow("bus", "443", domain), subject.ResponsesBelow("bus", domain)}
		if got != want {
			t.Errorf("below %q: %v, want %v", domain, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wide, narrow string
		want         bool
	}{
		{"bus.e.*", "bus.e.on-ordered", true},
		{"bus.e.*", "bus.e.*", true},
		{"bus.e.on-ordered", "bus.e.*", false},
		{"bus.*", "bus.e.on-ordered", false},
		{"bus.e.*.*", "bus.e.on-ordered", false},
		{"bus.>", "bus.e.*", true},
		{"bus.>", "bus.>", true},
		{"bus.>", "bus", false},
		{"bus.*", "bus.>", false},
		{"", "bus.e", false},
	} {
		if got := subject.Covers(test.wide, test.narrow); got != test.want {
			t.Errorf("Covers(%q, %q) = %t, want %t", test.wide, test.narrow, got, test.want)
		}
	}
}
