package portal

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// A picture of the traffic is made once a second at most, and what each reader was shown last is kept.
const (
	liveAge   = time.Second
	viewerAge = time.Minute // how long a reader who does not come again is remembered
	maxSeen   = 4096        // hosts that a reader was shown
)

// live knows the traffic of the plane while somebody looks.
type live struct {
	pictures shared[*picture]
	catalogs *catalogs
	now      func() time.Time

	mu      sync.Mutex // protects all below
	viewers map[string]*viewer
}

// viewer is what a caller, by token, was shown.
type viewer struct {
	used time.Time // the lock of live protects it

	mu       sync.Mutex           // protects all below
	seen     map[string]time.Time // hosts, and when last
	picture  *picture             // that the body is of
	snapshot *snapshot
	body     []byte
}

func newLive(conn *bus.Conn, all *catalogs, config *portalConfig) *live {
	window := new(window)
	look := func(ctx context.Context, began time.Time) (*picture, error) {
		seen, err := lookout(ctx, conn, began)
		if err != nil {
			return nil, err
		}
		window.add(seen)
		return newPicture(window), nil
	}
	return &live{
		pictures: shared[*picture]{age: liveAge, timeout: config.patience.traffic, now: config.now, look: look},
		catalogs: all, now: config.now, viewers: make(map[string]*viewer),
	}
}

// ServeHTTP serves what the caller may know of the traffic, as JSON.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bus.ActorOf(r.Context())
	current, err := l.pictures.read(r.Context())
	if err != nil {
		bus.ServeError(w, r, err)
		return
	}
	described, err := l.catalogs.of(token).read(r.Context())
	if err != nil {
		bus.ServeError(w, r, err)
		return
	}
	body, err := l.viewer(token).draw(current, described)
	if err != nil {
		bus.ServeError(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(body) // a handler of the bus cannot fail here
}

// viewer returns what is known of a caller. When there are too many, any other makes room.
func (l *live) viewer(token string) *viewer {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	known := l.viewers[token]
	if known == nil {
		for other, of := range l.viewers {
			if len(l.viewers) >= maxCatalogs || now.Sub(of.used) > viewerAge {
				delete(l.viewers, other)
			}
		}
		known = &viewer{seen: make(map[string]time.Time)}
		l.viewers[token] = known
	}
	known.used = now
	return known
}

// draw returns what is shown, which is made once for all readers with the same token.
func (v *viewer) draw(current *picture, described *snapshot) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.picture == current && v.snapshot == described {
		return v.body, nil
	}
	for host := range described.visible {
		v.seen[host] = current.taken
	}
	for host, last := range v.seen {
		if len(v.seen) <= maxSeen {
			break
		}
		if last.Before(current.taken) {
			delete(v.seen, host)
		}
	}
	view := draw(current, described.visible, v.seen)
	view.LeftOut = append(view.LeftOut, described.leftOut...)
	body, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	v.picture, v.snapshot, v.body = current, described, body
	return body, nil
}
