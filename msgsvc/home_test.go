package msgsvc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// goldenHome is the home page of three instances, with names in the place of IDs.
const goldenHome = `Processed by: <any>

Unicast
GET https://messaging.example/default-queue
> DefaultQueue <one>

Direct addressing unicast
GET https://<one>.messaging.example/default-queue
> DefaultQueue <one>

Multicast
GET https://messaging.example/no-queue
> NoQueue <first>
> NoQueue <second>
> NoQueue <last>

Direct addressing multicast
GET https://<last>.messaging.example/no-queue
> NoQueue <last>

Refresh to see who answers next.
`

func TestHome(t *testing.T) {
	t.Parallel()
	for name, shortCircuit := range map[string]bool{"over the short circuit": true, "over the broker": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			var ids []string
			for range 3 {
				conn := b.Connect(host, withShortCircuit(shortCircuit))
				serve(t, conn)
				ids = append(ids, conn.ID())
			}
			caller := b.Connect("caller.example", withShortCircuit(shortCircuit))
			for range 5 {
				status, text := get(t, caller, page("home"))
				if status != http.StatusOK {
					t.Fatalf("status %d: %s", status, text)
				}
				checkHome(t, text, ids)
			}
		})
	}
}

// responder finds who answered: "> NoQueue k3v9x2m4qz".
var responder = regexp.MustCompile(`(?m)^> \w+ (\w+)$`)

// checkHome puts the IDs that a page lists into the golden page, which says where else they have to be.
func checkHome(t *testing.T, text string, instances []string) {
	t.Helper()
	first, _, _ := strings.Cut(strings.TrimPrefix(text, "Processed by: "), "\n")
	responders := responder.FindAllStringSubmatch(text, -1)
	if len(responders) != 6 {
		t.Fatalf("%d responders, want 6:\n%s", len(responders), text)
	}
	id := func(i int) string { return responders[i][1] }
	want := strings.NewReplacer("<any>", first, "<one>", id(0), "<first>", id(2), "<second>", id(3), "<last>", id(4)).Replace(goldenHome)
	if text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
	if !slices.Contains(instances, first) || !slices.Contains(instances, id(0)) {
		t.Errorf("processed by %s, unicast to %s: not among the instances %v", first, id(0), instances)
	}
	if all := []string{id(2), id(3), id(4)}; !sameElements(all, instances) {
		t.Errorf("the multicast lists %v, the instances are %v", all, instances)
	}
}

func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestHome_Alone holds that a page is shown when none of its calls can be made.
func TestHome_Alone(t *testing.T) {
	t.Parallel()
	alone := newInstance(t, bustest.New(t))
	if err := alone.conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	err := alone.service.Home(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/home", http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	want := `Processed by: ` + alone.conn.ID() + `

Unicast
GET https://messaging.example/default-queue
! 503 Service Unavailable: the connection of messaging.example is closed

Direct addressing unicast
! nobody to address: the call above had no answer

Multicast
GET https://messaging.example/no-queue
! 503 Service Unavailable: the connection of messaging.example is closed

Direct addressing multicast
! nobody to address: the call above had no answer

Refresh to see who answers next.
`
	if got := recorder.Body.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestHome_ShowsFailures holds that an instance which fails is shown as such, and one that talks too much keeps to
// its line.
func TestHome_ShowsFailures(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b)
	answer := func(write func(w http.ResponseWriter, r *http.Request)) string {
		conn := b.Connect(host)
		if err := conn.Handle(http.MethodGet, "/no-queue", http.HandlerFunc(write), bus.NoQueue()); err != nil {
			t.Fatal(err)
		}
		return conn.ID()
	}
	failing := answer(func(w http.ResponseWriter, r *http.Request) {
		bus.WriteError(w, r, bus.Errorf(http.StatusTeapot, "out of\norder"))
	})
	answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "NoQueue spoof\n\nUnicast\n> NoQueue again") // to memory
	})
	_, text := get(t, b.Connect("caller.example"), page("home"))
	for _, want := range []string{
		"\n! 418 I'm a teapot: out of order (messaging.example " + failing + ")\n",
		"\n> NoQueue spoof Unicast > NoQueue again\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}
