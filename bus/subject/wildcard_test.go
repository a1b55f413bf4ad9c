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
