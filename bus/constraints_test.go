package bus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// parcel asks for something by its tags, and can be given by value.
type parcel struct {
	Weight int    `json:"weight" jsonschema:"minimum=1,maximum=30"`
	Street string `json:"street" jsonschema:"minLength=2"`
}

// label is told from its JSON alone.
type label struct {
	Text string `json:"text" jsonschema:"required"`
}

type post struct{}

func (post) Send(p parcel) (weight int)   { return p.Weight }
func (post) Print(l label) (text string)  { return l.Text }
func (post) Refund(amount int) (paid int) { return amount }

// TestConstraints: what breaks a constraint is 422, with all that is wrong, however the call travels.
func TestConstraints(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn, caller := w.connect("post.example"), w.connect("caller.example")
		serve(t, conn, post{}, bus.ParamNames("Send", "p", "weight"), bus.ParamNames("Print", "l", "text"), bus.ParamNames("Refund", "amount", "paid"))
		for name, call := range map[string]struct {
			path string
			args any
			want string // "" for an answer
		}{
			"fine": {"/send", bus.Args{"p": parcel{5, "Oak"}}, ""},
			"a struct": {"/send", struct {
				P parcel `json:"p"`
			}{parcel{31, "A"}}, "p.street (body): expects at least 2 characters; p.weight (body): expects at most 30"},
			"arguments":         {"/send", bus.Args{"p": parcel{31, "A"}}, "p.street (body): expects at least 2 characters; p.weight (body): expects at most 30"},
			"missing":           {"/send", nil, "p (body): is missing"},
			"missing, in query": {"/send?p.weight=3", nil, "p.street (query): is missing"},
			"text": {"/print", struct {
				L label `json:"l"`
			}{}, ""},
			"no text": {"/print", bus.Args{"l": bus.Args{}}, "l.text (body): is missing"},
		} {
			err := caller.Call(t.Context(), "https://post.example"+call.path, call.args, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			switch {
			case (call.want == "") != (failed == nil):
				t.Errorf("%s: %v", name, err)
			case failed != nil && (failed.Status != 422 || failed.Detail != call.want || failed.Executed != bus.ExecutedNo ||
				len(failed.Arguments) != 1+strings.Count(call.want, ";")):
				t.Errorf("%s: %#v", name, failed)
			}
		}
	})
}

type mistaken struct{}

func (mistaken) Send(p struct {
	Weight int `json:"weight" jsonschema:"minimum=one"`
}) {
}

func TestMalformedConstraintsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	err := bus.Serve(b.Connect("post.example"), mistaken{}, bus.ParamNames("Send", "p", ""))
	if err == nil || !strings.Contains(err.Error(), `.Weight: jsonschema "minimum=one": expects a number`) {
		t.Errorf("Serve = %v", err)
	}
}
