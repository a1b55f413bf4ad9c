package subject_test

import (
	"testing"

	"github.com/busline/busline/bus/subject"
)

func TestEvent(t *testing.T) {
	t.Parallel()
	if got, want := subject.Event("bus", "orders.example", "on-ordered"), "bus.e.example.orders.on-ordered"; got != want {
		t.Errorf("stored under %s, want %s", got, want)
	}
	if got, want := subject.ParkedEvent("bus", "orders.example", "mailer_example", "*"), "bus.p.example.orders.mailer_example.*"; got != want {
		t.Errorf("parked under %s, want %s", got, want)
	}
	if got, want := subject.RetriedEvent("bus", "orders.example", "mailer_example", "on-ordered"), "bus.a.example.orders.mailer_example.on-ordered"; got != want {
		t.Errorf("retried under %s, want %s", got, want)
	}
}
