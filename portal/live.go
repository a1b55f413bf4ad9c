package portal

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// A picture of the traffic is made at most once a second, and the last view of each reader is kept.
const (
	liveAge   = time.Second
	viewerAge = time.Minute // how long a reader is remembered after its last request
	maxSeen   = 4096        // hosts that one reader has been shown
)

// live knows the traffic of the plane while readers ask for it.
type live struct {
	pictures shared[*picture]
	catalogs *catalogs
	now      func() time.Time

	mu      sync.Mutex // protects all fields below
	viewers map[string]*viewer
}

// viewer is what one caller, identified by its token, has been shown.
type viewer struct {
	used time.Time // protected by the lock of live

	mu       sync.Mutex           // protects all fields below
	seen     map[string]time.Time // hosts, and when they were last shown
	picture  *picture             // from which the body was made
	snapshot *snapshot
	body     []byte
}

func newLive(conn *bus.Conn, all *catalogs, config *portalConfig) *live {
	window := new(window)
	look := func(ctx context.Context, began time.Time) (*picture, error) {
		seen, err := lookout(ctx, conn, &all.roster, began)
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

// ServeHTTP serves the traffic that the caller may see, as JSON.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bus.ActorOf(r.Context())
	current, err := l.pictures.read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	described, err := l.catalogs.of(token).read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	body, err := l.viewer(token).draw(current, described)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(body) // the ResponseWriter of a bus handler does not fail here
}

// viewer returns the state of a caller. If there are too many, any other is evicted.
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

// draw returns the caller's view as JSON, made once for all readers with the same token.
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
