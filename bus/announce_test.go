package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// TestAnnouncements_AreNotAnswered counts what instances cost that come and go: a few messages each, whatever the number of the others.
func TestAnnouncements_AreNotAnswered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		announced := b.listen(subject.Subscription(b.Plane(), "888", "all", "POST", ">"))
		answers := b.listen(b.Plane() + ".r.>")
		const instances = 20
		conns := make([]*bus.Conn, instances)
		for i := range conns {
			conns[i] = b.connect(fmt.Sprintf("h%d.example", i))
			serve(t, conns[i], calculator{})
		}
		time.Sleep(2 * time.Second) // for the announcement of the documents
		for _, conn := range conns {
			require.NoError(t, conn.Close(t.Context()))
		}
		synctest.Wait()
		assert.Len(t, announced, 4*instances, "hello, something new, the document, bye")
		assert.Empty(t, answers)
		for _, conn := range conns {
			assert.Zero(t, conn.Stats().UnmatchedResponses)
		}
	})
}

// TestAnnouncements_Forged has more instances announced than one takes, all made up: that is logged once, and the next multicast misses none.
func TestAnnouncements_Forged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		log := new(lines)
		caller := b.connect("caller.example", bus.WithLogger(zerolog.New(log)))
		b.newWithoutQueue(calculatorHost, 2)
		b.listenTo(caller, calculatorHost)
		b.announceInvented(20_000)
		late := slow{host: calculatorHost, id: "s1aaaaaaaa", takes: 200 * time.Millisecond}
		b.newSlow(late)
		b.greet(late)
		synctest.Wait()
		bus.FlushLog(caller)
		assert.Equal(t, 1, log.count("too many announcements of other instances"), log)
		assert.Contains(t, publish(t, caller, calculatorURL+"/who"), late.id)
	})
}
