package calls_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestTranscript holds what one call looks like on the wire, byte for byte: docs/reference/wire.md shows the same.
func TestTranscript(t *testing.T) {
	t.Parallel()
	w := &kit.World{Transport: bus.WithoutShortCircuit()}
	w.Bus = kit.NewBus(t)
	caller, callee := kit.NewCalculator(t, w)
	requests, answers := kit.Tap(t, w, w.Plane()+".443.>"), kit.Tap(t, w, w.Plane()+".r.example.caller.*")
	var out struct{ Sum int }
	require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 5, "y": 6}, &out))
	request := <-requests
	id := regexp.MustCompile(`Bus-Msg-Id: ([A-Z2-7]{26})\r\n`).FindSubmatch(request.Data)
	if id == nil {
		t.Fatalf("no message id in %q", request.Data)
	}
	answer := func() *nats.Msg { // passing over those to the caller's greeting
		for {
			if message := <-answers; bytes.Contains(message.Data, id[1]) {
				return message
			}
		}
	}
	ack, response := answer(), answer()
	names := strings.NewReplacer("CALLER", caller.ID(), "CALLEE", callee.ID(), "MSGID", string(id[1]), "PLANE", w.Plane(),
		"\n", "\r\n")

	check := func(what string, message *nats.Msg, subject, text string) {
		t.Helper()
		if want := names.Replace(subject); message.Subject != want {
			t.Errorf("%s on %s, want %s", what, message.Subject, want)
		}
		got := regexp.MustCompile(`Bus-Time-Budget: (19\d{3}|20000)\r`).ReplaceAllString(string(message.Data),
			"Bus-Time-Budget: BUDGET\r")
		if want := names.Replace(text); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", what, got, want)
		}
	}
	check("request", request, "PLANE.443.example.calculator.|.POST.add", `POST /add HTTP/1.1
Host: calculator.example
Content-Length: 13
Bus-Call-Depth: 1
Bus-From-Host: caller.example
Bus-From-Id: CALLER
Bus-Msg-Id: MSGID
Bus-Op-Code: Req
Bus-Time-Budget: BUDGET
Content-Type: application/json

{"x":5,"y":6}`)
	if want := names.Replace("PLANE.r.example.caller.CALLER.MSGID"); request.Reply != want {
		t.Errorf("reply subject %s, want %s", request.Reply, want)
	}
	check("ack", ack, "PLANE.r.example.caller.CALLER", `HTTP/1.1 202 Accepted
Connection: close
Bus-From-Host: calculator.example
Bus-From-Id: CALLEE
Bus-Msg-Id: MSGID
Bus-Op-Code: Ack
Bus-Queue: calculator.example

`)
	check("response", response, "PLANE.r.example.caller.CALLER", `HTTP/1.1 200 OK
Connection: close
Content-Length: 10
Bus-From-Host: calculator.example
Bus-From-Id: CALLEE
Bus-Msg-Id: MSGID
Bus-Op-Code: Res
Bus-Queue: calculator.example
Content-Type: application/json

{"sum":11}`)
}
