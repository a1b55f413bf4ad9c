package msgsvc

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// Home calls the other endpoints in each of the four ways that there are, and shows who answered.
func (s *Service) Home(w http.ResponseWriter, r *http.Request) error {
	t := newTour(r.Context(), s.conn)
	fmt.Fprintf(t, "Processed by: %s\n", s.conn.ID())
	first := t.visit("Unicast", t.unicast, anyInstance, "default-queue")
	t.visit("Direct addressing unicast", t.unicast, first, "default-queue")
	last := t.visit("Multicast", s.conn.Multicast, anyInstance, "no-queue")
	t.visit("Direct addressing multicast", s.conn.Multicast, last, "no-queue")
	t.WriteString("\nRefresh to see who answers next.\n")
	return writeText(w, "%s", t.String())
}

// tour makes the calls of the home page and writes it, a section for each.
type tour struct {
	strings.Builder
	conn    *bus.Conn
	ctx     context.Context
	timeout time.Duration // with each call
}

// newTour leaves a share of the time budget unspent, so that the page can be shown even without an answer.
func newTour(ctx context.Context, conn *bus.Conn) *tour {
	t := &tour{conn: conn, ctx: ctx, timeout: 4 * time.Second}
	if deadline, ok := ctx.Deadline(); ok {
		t.timeout = min(t.timeout, time.Until(deadline)/5) // of four calls
	}
	return t
}

// Whom to call: the ID of an instance, or one of these.
const (
	anyInstance = "*" // the host
	noInstance  = ""  // a call had no answer, so that there is no instance to call next
)

// caller is how to call: it yields what each instance answers.
type caller func(*http.Request) iter.Seq2[*http.Response, error]

func (t *tour) unicast(r *http.Request) iter.Seq2[*http.Response, error] {
	return func(yield func(*http.Response, error) bool) { yield(t.conn.Do(r)) }
}

// visit writes the section of one call. It returns the instance that answered last, or noInstance.
func (t *tour) visit(heading string, call caller, whom, endpoint string) (last string) {
	fmt.Fprintf(t, "\n%s\n", heading)
	if whom == noInstance {
		t.WriteString("! nobody to address: the call above had no answer\n")
		return noInstance
	}
	address := "https://" + t.conn.Host() + "/" + endpoint
	if whom != anyInstance {
		address = "https://" + whom + "." + t.conn.Host() + "/" + endpoint
	}
	fmt.Fprintf(t, "%s %s\n", http.MethodGet, address)
	return t.list(call, address)
}

// list writes a line for each answer, or for what went wrong. It returns the instance that answered last, or
// noInstance.
func (t *tour) list(call caller, address string) (last string) {
	ctx, cancel := context.WithTimeout(t.ctx, t.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		fmt.Fprintf(t, "! %s\n", oneLine(err.Error()))
		return noInstance
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

// replica is what the replicas of a shared cache ask of one another. It is served like any other struct, on the
// internal port, and every replica answers.
type replica struct{ cache *sharedCache }

func serveReplica(cache *sharedCache) error {
	return bus.Serve(cache.conn, replica{cache}, bus.SourceFS(source),
		bus.Port(internalPort), bus.NoQueue(), bus.Undocumented(), bus.MaxBodyBytes(int(cache.conn.NATS().MaxPayload())))
}

// Join adds the caller to the replicas.
func (r replica) Join(ctx context.Context) { r.cache.peers.metCaller(ctx) }

// Find returns the entry of a key, if this replica has it.
func (r replica) Find(ctx context.Context, key []byte) (found bool, entry entry) {
	r.cache.peers.metCaller(ctx)
	entry, found = r.cache.entries.get(key)
	return found, entry
}

// Invalidate drops the entry of a key that was stored before a version. It returns the version of one stored after.
func (r replica) Invalidate(ctx context.Context, key []byte, by version) (newer version) {
	r.cache.peers.metCaller(ctx)
	return r.cache.entries.invalidate(key, by)
}

// Room returns how many bytes are free here, for one that closes and looks for candidates.
func (r replica) Room() (id string, room int, closing bool) {
	return r.cache.conn.ID(), r.cache.entries.room(), r.cache.closing.Load()
}

// Take keeps entries that another replica hands over, the one used most recently first. A replica that is closing
// itself does not take them.
func (r replica) Take(entries []handed) (taken bool) {
	r.cache.entries.take(entries)
	return !r.cache.closing.Load() // asked last: Close hands over what was put before it began
}

// CacheStore keeps the query argument value under the query argument key. Any instance finds it.
func (s *Service) CacheStore(w http.ResponseWriter, r *http.Request) error {
	key, err := queryArgument(r, "key")
	if err != nil {
		return err
	}
	value, err := queryArgument(r, "value")
	if err != nil {
		return err
	}
	if err := s.cache.Store(r.Context(), key, value); err != nil {
		return err
	}
	return writeText(w, "key: %s\nvalue: %s\nStored by %s\n", key, value, s.conn.ID())
}

// CacheLoad finds what was stored under the query argument key, through whichever instance.
func (s *Service) CacheLoad(w http.ResponseWriter, r *http.Request) error {
	key, err := queryArgument(r, "key")
	if err != nil {
		return err
	}
	value, found, err := s.cache.Load(r.Context(), key)
	switch {
	case err != nil:
		return err
	case found:
		return writeText(w, "key: %s\nfound: yes\nvalue: %s\nLoaded by %s\n", key, value, s.conn.ID())
	default:
		return writeText(w, "key: %s\nfound: no\nLoaded by %s\n", key, s.conn.ID())
	}
}

// queryArgument returns an argument that has to be there, once. It may be empty, and hold any bytes.
func queryArgument(r *http.Request, name string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", bus.Errorf(http.StatusBadRequest, "the query cannot be read: %w", err)
	}
	switch values := query[name]; len(values) {
	case 1:
		return values[0], nil
	case 0:
		return "", bus.Errorf(http.StatusBadRequest, "the query argument %s is missing", name)
	default:
		return "", bus.Errorf(http.StatusBadRequest, "the query argument %s is given %d times", name, len(values))
	}
}
