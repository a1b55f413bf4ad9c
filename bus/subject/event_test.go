package subject_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/subject"
)

func TestEvent(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "bus.e.example.orders.on-ordered.17", subject.Event("bus", "orders.example", "on-ordered", "17"))
	assert.Equal(t, "bus.d.example.orders.mailer_example.*.*",
		subject.DeadLetter("bus", "orders.example", "mailer_example", "*", "*"))
	assert.Equal(t, "bus.a.example.orders.mailer_example.on-ordered.17",
		subject.RetriedEvent("bus", "orders.example", "mailer_example", "on-ordered", "17"))
	assert.Equal(t, "bus.l.example.orders.on-ordered.every", subject.LaterEvent("bus", "orders.example", "on-ordered",
		"every"))
}
