package bustest_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// Library answers with whole books.
type Library struct{ read *int }

// Read returns a book of so many pages.
func (l Library) Read(pages int) (text string) {
	*l.read++
	return strings.Repeat("a page of a book\n", pages)
}

// TestCheckShortCircuit calls a service that works as long as it is in the same process: its answer is larger than the
// broker would carry.
func TestCheckShortCircuit(t *testing.T) {
	t.Parallel()
	record := &recordingT{TB: t}
	b := bustest.New(bustest.Reporter(record), broker.MaxPayload(4096))
	unchecked := b.Connect("unchecked.example")
	b.CheckShortCircuit()
	library, caller := b.Connect("library.example"), b.Connect("caller.example")
	read := 0
	if err := bus.Serve(library, Library{&read}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		caller *bus.Conn
		pages  int
		told   string
	}{
		{unchecked, 1000, ""},
		{caller, 10, ""},
		{caller, 1000, "POST https://library.example/read: the response arrives in the process, and would not over the broker: 413"},
	} {
		record.told, read = nil, 0
		var out struct{ Text string }
		err := bus.Call(t.Context(), test.caller, "https://library.example/read", bus.Args{"pages": test.pages}, &out)
		if err != nil || len(out.Text) != 17*test.pages || read != 1 {
			t.Errorf("%d pages: %d bytes, read %d times: %v", test.pages, len(out.Text), read, err)
		}
		told, _ := record.seen()
		if all := strings.Join(told, "\n"); !strings.HasPrefix(all, test.told) || (test.told == "") != (all == "") {
			t.Errorf("%d pages: told %q", test.pages, all)
		}
	}
}
