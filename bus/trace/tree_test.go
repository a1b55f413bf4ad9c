package trace_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/trace"
)

// at returns a time so many milliseconds after a fixed one.
func at(milliseconds int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(milliseconds) * time.Millisecond)
}

// made is a call that an instance has made: a → b, with ids that name both.
func made(from, to, span, msgID, parentMsgID, parentSpan string, began, took int) trace.Call {
	return trace.Call{Side: bus.ClientSide, SpanID: span, MsgID: msgID, ParentMsgID: parentMsgID, ParentSpanID: parentSpan,
		From: from, FromID: from, To: to, ToID: to, Port: subject.PublicPort, Method: "POST", Path: "/x", Began: at(began),
		Took: time.Duration(took) * time.Millisecond, Status: 200, Attempts: 1}
}

// served is the same call at its callee.
func served(from, to, span, msgID string, depth, began, took int) trace.Call {
	return trace.Call{Side: bus.ServerSide, SpanID: span, MsgID: msgID, From: from, FromID: from, To: to, ToID: to,
		Port: subject.PublicPort, Method: "POST", Path: "/x", Depth: depth, Began: at(began),
		Took: time.Duration(took) * time.Millisecond, Status: 200}
}

// timed is outline with ids and times in milliseconds.
func timed(nodes []*trace.Node, indent string) (text string) {
	for _, n := range nodes {
		text += fmt.Sprintf("%s%s %s→%s %d+%d", indent, n.Side, n.From, n.To, n.Began.Sub(at(0)).Milliseconds(),
			n.Took.Milliseconds())
		if n.Shift != 0 {
			text += fmt.Sprintf(" shift %d", n.Shift.Milliseconds())
		}
		if n.Gap != "" {
			text += " (" + n.Gap + ")"
		}
		text += "\n" + timed(n.Children, indent+"  ")
	}
	return text
}

func TestBuild(t *testing.T) {
	t.Parallel()
	retried := made("a", "b", "s1", "m2", "", "", 0, 100)
	retried.Attempts = 2
	gaveUp := made("a", "b", "s1", "m1", "", "", 0, 50)
	gaveUp.Status = 504
	toAll := made("a", "b", "s1", "m1", "", "", 0, 10)
	toAll.Multicast, toAll.ToID = true, ""
	event := made("a", "a", "s1", "m1", "", "", 0, 10)
	event.Multicast, event.ToID, event.Port = true, "", subject.EventPort
	unrecorded, refused := gaveUp, gaveUp
	unrecorded.Budget, refused.Budget = time.Second, time.Second
	refused.Executed = bus.ExecutedNo
	absurd, early := made("a", "b", "s1", "m1", "", "", 0, 10), served("a", "b", "s1", "m1", 1, 0, 5)
	absurd.Took, early.Began = -5, time.Time{}
	for _, test := range []struct {
		name  string
		calls []trace.Call
		want  string
	}{
		{"chain, in any order", []trace.Call{
			served("b", "c", "s2", "m2", 2, 3, 4), made("b", "c", "s2", "m2", "m1", "s1", 2, 6),
			served("a", "b", "s1", "m1", 1, 1, 8), made("a", "b", "s1", "m1", "", "", 0, 10),
		}, `client a→b 0+10
  server a→b 1+8
    client b→c 2+6
      server b→c 3+4
`},
		{"attempts", []trace.Call{retried, served("a", "b", "s1", "m1", 1, 1, 40), served("a", "b", "s1", "m2", 1, 60, 30)},
			"client a→b 0+100\n  server a→b 1+40\n  server a→b 60+30\n"},
		{"answers of a multicast", []trace.Call{toAll, served("a", "b", "s1", "m1", 1, 2, 3), served("a", "c", "s1", "m1", 1, 1, 30)},
			"client a→b 0+10\n  server a→c 1+30\n  server a→b 2+3\n"},
		{"subscribers, later", []trace.Call{event, served("a", "b", "s1", "m1", 1, 5000, 3)},
			"client a→a 0+10\n  server a→b 5000+3\n"},
		{"a clock that is fast", []trace.Call{made("a", "b", "s1", "m1", "", "", 0, 10), served("a", "b", "s1", "m1", 1, 122, 6),
			made("b", "c", "s2", "m2", "m1", "s1", 123, 2)},
			"client a→b 0+10\n  server a→b 2+6 shift -120\n    client b→c 3+2 shift -120\n"},
		{"a clock that is slow", []trace.Call{made("a", "b", "s1", "m1", "", "", 0, 10), served("a", "b", "s1", "m1", 1, -50, 6)},
			"client a→b 0+10\n  server a→b 2+6 shift 52\n"},
		{"a handler that goes on", []trace.Call{gaveUp, served("a", "b", "s1", "m1", 1, 2, 90)},
			"client a→b 0+50\n  server a→b 2+90\n"},
		{"a caller that remembers nothing", []trace.Call{served("a", "b", "s1", "m1", 1, 1, 8)},
			"server a→b 1+8 (a does not remember this call)\n"},
		{"a service between that passes the span on", []trace.Call{made("a", "b", "s1", "m1", "", "", 0, 10),
			served("b", "c", "s1", "m2", 2, 2, 4)},
			"client a→b 0+10\n  server b→c 2+4 (b does not remember this call)\n"},
		{"a request that was forgotten", []trace.Call{made("a", "b", "s1", "m1", "", "", 0, 10),
			made("b", "c", "s2", "m2", "m1", "s1", 2, 6)},
			"client a→b 0+10\n  client b→c 2+6 (b does not remember the request that it served)\n"},
		{"a call that was forgotten", []trace.Call{served("a", "b", "s1", "m1", 1, 0, 10), served("b", "c", "s2", "m2", 2, 3, 4)},
			"server a→b 0+10 (a does not remember this call)\n  server b→c 3+4 (b does not remember this call)\n"},
		{"a callee without a record", []trace.Call{unrecorded}, "client a→b 0+50 (no record of the callee: it is still " +
			"running, has forgotten it, or does not use trace.Record)\n"},
		{"a callee with a record", []trace.Call{unrecorded, served("a", "b", "s1", "m1", 1, 2, 4)},
			"client a→b 0+50\n  server a→b 2+4\n"},
		{"a call that has reached no callee", []trace.Call{refused}, "client a→b 0+50\n"},
		{"the same twice", []trace.Call{toAll, toAll}, "client a→b 0+10\n"},
		{"a circle", []trace.Call{served("a", "b", "s1", "m1", 1, 0, 10), made("b", "a", "s2", "m2", "m1", "s1", 1, 5),
			served("b", "a", "s2", "m2", 2, 2, 3), made("a", "b", "s1", "m1", "m2", "s2", 3, 1)},
			`server a→b 0+10 (what caused this call is contradictory)
  client b→a 1+5
    server b→a 2+3
      client a→b 3+1
`},
		{"its own cause", []trace.Call{made("a", "b", "s1", "m1", "m0", "s1", 0, 1)},
			"client a→b 0+1 (a does not remember the request that it served)\n"},
		{"times that no clock has", []trace.Call{absurd, early}, "client a→b 0+0\n  server a→b 0+5 shift " +
			strconv.FormatInt(at(0).UnixMilli(), 10) + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, timed(trace.Build(test.calls), ""))
		})
	}
}

// TestBuild_AnyRecords holds that every call is in the tree once, whatever the records say, and that there is an end.
func TestBuild_AnyRecords(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same in each run
	name := func(of int) string { return strconv.Itoa(random.IntN(of)) }
	for _, kinds := range []int{2, 20, 1000} {
		calls := make([]trace.Call, 12_000)
		for i := range calls {
			calls[i] = made(name(kinds), name(kinds), name(kinds), name(kinds), name(kinds), name(kinds), random.IntN(1000)-500,
				random.IntN(1000))
			calls[i].Side, calls[i].Depth = bus.Side(1+random.IntN(2)), random.IntN(3)
			calls[i].Began = calls[i].Began.Add(time.Duration(i)) // else it may be one that comes twice
		}
		seen := make(map[*trace.Node]bool)
		var count func([]*trace.Node)
		count = func(nodes []*trace.Node) {
			for _, each := range nodes {
				assert.False(t, seen[each])
				seen[each] = true
				count(each.Children)
			}
		}
		count(trace.Build(calls))
		assert.Len(t, seen, trace.MaxCalls)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for text, want := range map[string]string{
		id: id, strings.ToUpper(id): id, "00-" + id + "-00f067aa0ba902b7-01": id,
		"": "", "4bf92f35": "", "00000000000000000000000000000000": "", "xbf92f3577b34da6a3ce929d0e0e4736": "",
	} {
		got, err := trace.ParseID(text)
		assert.Equal(t, want, got)
		if want == "" {
			assert.ErrorContains(t, err, "is not the id of a trace: pass 32 hexadecimal digits, such as "+id+", or a whole "+
				"Traceparent")
		}
	}
}
