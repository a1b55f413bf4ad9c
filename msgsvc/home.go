package msgsvc

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// Home calls the other endpoints in each of the four ways that there are, and shows who answered.
func (s *Service) Home(w http.ResponseWriter, r *http.Request) error {
	t := newTour(r.Context(), s.conn)
	fmt.Fprintf(t, "Processed by: %s\n", s.conn.ID())
	first := t.visit("Unicast", t.unicast, anyone, "default-queue")
	t.visit("Direct addressing unicast", t.unicast, first, "default-queue")
	last := t.visit("Multicast", s.conn.Multicast, anyone, "no-queue")
	t.visit("Direct addressing multicast", s.conn.Multicast, last, "no-queue")
	t.WriteString("\nRefresh to see who answers next.\n")
	return writeText(w, "%s", t.String())
}

// tour makes the calls of the home page and writes it, a section for each.
type tour struct {
	strings.Builder
	conn     *bus.Conn
	ctx      context.Context
	patience time.Duration // with each call
}

// newTour leaves a share of the time budget unspent, so that the page can be shown even if nobody answers.
func newTour(ctx context.Context, conn *bus.Conn) *tour {
	t := &tour{conn: conn, ctx: ctx, patience: 4 * time.Second}
	if deadline, ok := ctx.Deadline(); ok {
		t.patience = min(t.patience, time.Until(deadline)/5) // of four calls
	}
	return t
}

// Whom to call: the ID of an instance, or one of these.
const (
	anyone = "*" // the host
	nobody = ""  // a call had no answer, so that there is nobody to call next
)

// way is how to call: it yields what each instance answers.
type way func(*http.Request) iter.Seq2[*http.Response, error]

func (t *tour) unicast(r *http.Request) iter.Seq2[*http.Response, error] {
	return func(yield func(*http.Response, error) bool) { yield(t.conn.Do(r)) }
}

// visit writes the section of one call. It returns who answered last, or nobody.
func (t *tour) visit(heading string, call way, whom, endpoint string) (last string) {
	fmt.Fprintf(t, "\n%s\n", heading)
	if whom == nobody {
		t.WriteString("! nobody to address: the call above had no answer\n")
		return nobody
	}
	address := "https://" + t.conn.Host() + "/" + endpoint
	if whom != anyone {
		address = "https://" + whom + "." + t.conn.Host() + "/" + endpoint
	}
	fmt.Fprintf(t, "%s %s\n", http.MethodGet, address)
	return t.list(call, address)
}

// list writes a line for each answer, or for what went wrong. It returns who answered last, or nobody.
func (t *tour) list(call way, address string) (last string) {
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		fmt.Fprintf(t, "! %s\n", oneLine(err.Error()))
		return nobody
	}
	empty := true
	for response, err := range call(request) {
		empty = false
		body, err := bodyOf(response, err)
		if err != nil {
			fmt.Fprintf(t, "! %s\n", oneLine(err.Error()))
			continue
		}
		fmt.Fprintf(t, "> %s\n", oneLine(string(body)))
		last = idOf(response)
	}
	if empty {
		t.WriteString("! nobody answered\n")
	}
	return last
}

// oneLine keeps what others say from looking like lines of the page.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
