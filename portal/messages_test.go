package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal"
)

type storedMessages struct {
	Messages []struct {
		Sequence                      uint64
		Event, ID, MsgID, Body, Bytes string
		Stored                        time.Time
	}
	Before  uint64
	Read    int
	Reached time.Time
}

func (e *storedEvents) messages(query string) (got storedMessages) {
	e.T.Helper()
	answer := e.Get("/portal/messages.json?publisher=orders.example&event=on-ordered" + query)
	require.Equal(e.T, http.StatusOK, answer.StatusCode, answer.Text)
	answer.Decode(e.T, &got)
	return got
}

func TestMessages(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	const count = 60
	for number := range count {
		e.order(number, number)
	}
	first := e.messages("")
	require.Len(t, first.Messages, 50)
	assert.Equal(t, uint64(count), first.Messages[0].Sequence)
	assert.Contains(t, first.Messages[0].Body, `"number":59`)
	assert.NotEmpty(t, first.Messages[0].MsgID)
	rest := e.messages("&before=11")
	assert.Equal(t, uint64(11), first.Before)
	assert.Len(t, rest.Messages, 10)
	assert.Zero(t, rest.Before)
	assert.Len(t, e.messages("&after=57").Messages, 3, "what is new")
	assert.Empty(t, e.messages("&after=60").Messages)

	found := e.messages("&keyName=number&key=5")
	require.Len(t, found.Messages, 1)
	assert.Equal(t, uint64(6), found.Messages[0].Sequence)
	assert.Equal(t, count, found.Read)
	assert.Equal(t, found.Messages[0].Sequence, e.messages("&text=%22NUMBER%22:5,").Messages[0].Sequence)
	assert.Empty(t, e.messages("&keyName=other&key=5").Messages)
	middle := first.Messages[19].Stored.Format(time.RFC3339Nano)
	assert.Len(t, e.messages("&since="+middle).Messages, 20)
	assert.Equal(t, first.Messages[20], e.messages("&until=" + middle).Messages[0])
}

// TestMessages_Foreign has messages in the log that are no events of Busline.
func TestMessages_Foreign(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	e.order(1, 1)
	raw := e.stocking.NATS()
	for _, body := range []string{"<html>", "\xff\x00", strings.Repeat("x", 900<<10)} {
		_, err := raw.Request(e.Bus.Plane()+".e.example.orders.on-ordered.1", []byte(body), time.Minute)
		require.NoError(t, err)
	}
	got := e.messages("").Messages
	require.Len(t, got, 4)
	assert.Len(t, got[0].Body, 900<<10)
	assert.Equal(t, "/wA=", got[1].Bytes)
	assert.Equal(t, "<html>", got[2].Body)
}

func TestReplay(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	for number := range 3 {
		e.order(number, 1)
		<-e.stock.handled
	}
	second := e.messages("").Messages[1].Stored.Format(time.RFC3339Nano)
	assert.JSONEq(t, `{"events":2}`, e.post("/replay", anyDeadLetter+`"from":"`+second+`","count":true}`).Text)
	assert.JSONEq(t, `{"events":2}`, e.post("/replay", anyDeadLetter+`"from":"`+second+`"}`).Text)
	assert.Equal(t, 3, <-e.stock.handled+<-e.stock.handled)
	assert.JSONEq(t, `{"events":1}`, e.post("/replay", anyDeadLetter+`"sequence":1}`).Text)
	assert.Equal(t, 0, <-e.stock.handled)
}

func TestMessages_Refuses(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	e.order(1, 1)
	for _, test := range []struct {
		query  string
		status int
		detail string
	}{
		{"", 400, "name the publisher and the event"},
		{"?publisher=orders.example&event=on-ordered&since=yesterday", 400, `since is "yesterday": give a time`},
		{"?publisher=orders.example&event=on-ordered&before=-1", 400, `before is "-1"`},
		{"?publisher=no%20host&event=on-ordered", 400, "the publisher"},
		{"?publisher=orders.example&event=on-orderd", 404, "has stored no event on-orderd; did you mean"},
		{"?publisher=order.example&event=on-ordered", 404, "order.example has no stored events"},
	} {
		failed := e.Get("/portal/messages.json" + test.query).Problem(t)
		assert.Equal(t, test.status, failed.Status, test.query)
		assert.Contains(t, failed.Detail, test.detail)
	}
	for _, test := range []struct {
		body   string
		status int
		detail string
	}{
		{`{}`, 400, "name the publisher, the service and the event"},
		{anyDeadLetter + `"count":true}`, 400, "give either the sequence of one event, or from"},
		{anyDeadLetter + `"sequence":1,"from":"2026-01-01T00:00:00Z"}`, 400, "give either"},
		{anyDeadLetter + `"from":"2020-01-01T00:00:00Z"}`, 400, "the log of orders.example begins at"},
		{anyDeadLetter + `"sequence":9}`, 404, "no event 9 any more"},
		{anyDeadLetter + `"from":"soon"}`, 400, "the body is not one JSON object with publisher, service, event"},
		{strings.Replace(anyDeadLetter, "stock", "mailer", 1) + `"sequence":1}`, 404, "does not subscribe"},
	} {
		failed := e.post("/replay", test.body).Problem(t)
		assert.Equal(t, test.status, failed.Status, test.body)
		assert.Contains(t, failed.Detail, test.detail)
	}
}
