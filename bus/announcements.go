package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Announcement says that an instance of the plane has come, has something new, or leaves.
type Announcement struct {
	// Host and ID are those of the instance, as it states them: any user of the broker who may publish announcements can
	// state others.
	Host, ID string
	// Leaves says that the instance closes. If it is false the instance has come, or serves something new.
	Leaves bool
	// Missed says that announcements may have been missed, because the broker was away or too many came. Host and ID are
	// empty then.
	Missed bool
}

// WatchAnnouncements calls receive for each announcement of an instance of the plane, this one included, until stop
// is called. Who wants to know what runs asks all instances once, with a multicast to https://all:888/ping, and again
// after an announcement with Missed. An instance that dies announces nothing. Nothing comes if the broker denies it:
// see [Conn.Restrictions]. Messages that were dropped, see [Stats], may have been announcements, too.
//
// receive runs on the goroutine that receives all messages of the process, and must neither block nor call. It may be
// called concurrently, and once more while stop runs. WatchAnnouncements and stop are safe for concurrent use.
func (c *Conn) WatchAnnouncements(receive func(Announcement)) (stop func()) {
	return c.others.watchers.add(receive)
}

// announcementWatchers are called for each announcement. The zero value has none.
type announcementWatchers struct {
	mu  sync.Mutex // of those who change all
	all atomic.Pointer[[]*announcementWatcher]
}

type announcementWatcher struct{ receive func(Announcement) }

func (w *announcementWatchers) add(receive func(Announcement)) (stop func()) {
	added := &announcementWatcher{receive}
	w.change(func(all []*announcementWatcher) []*announcementWatcher { return append(all, added) })
	return func() {
		w.change(func(all []*announcementWatcher) []*announcementWatcher {
			return slices.DeleteFunc(all, func(each *announcementWatcher) bool { return each == added })
		})
	}
}

func (w *announcementWatchers) change(how func([]*announcementWatcher) []*announcementWatcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*announcementWatcher
	if known := w.all.Load(); known != nil {
		all = slices.Clone(*known)
	}
	all = how(all)
	w.all.Store(&all)
}

func (w *announcementWatchers) tell(announcement Announcement) {
	if all := w.all.Load(); all != nil {
		for _, each := range *all {
			each.receive(announcement)
		}
	}
}

// maxAnnouncement bounds the body of an announcement that is read, in bytes, so that one takes as little as any other.
const maxAnnouncement = 4 << 10

// announcement is the body of an announcement: what instances of one host have to know of each other. All members may
// be missing.
type announcement struct {
	Digest  string `json:"digest"` // of the document, as in a ping
	Version string `json:"version,omitempty"`
}

// announce sends every instance of the plane a message: this one has come, has something new, or leaves. No one
// answers. content may be nil.
func (c *Conn) announce(ctx context.Context, path string, content *announcement) {
	defer c.shared.turn(ctx)()
	var header wire.Header
	var body []byte
	var err error
	if content != nil {
		header = jsonContent()
		body, err = json.Marshal(content)
	}
	to := &url.URL{Scheme: "https", Host: subject.HostAll + ":" + strconv.Itoa(subject.ControlPort), Path: path}
	announced, failed := client.NewOutgoing(http.MethodPost, to, header, body)
	if err = cmp.Or(err, failed); err == nil {
		err = c.client.Tell(ctx, &announced)
	}
	if err != nil {
		c.log(c.logger.Warn().Err(err), "cannot send "+path+
			" to the other services; their next multicast may miss this instance")
	}
}

// turn waits until earlier announcements of this process have come back to it, and returns what ends the turn. Every
// connection on the broker connection gets each: if hundreds announce at once, that is more than the dispatcher holds.
func (s *shared) turn(ctx context.Context) (over func()) {
	select {
	case s.announcing <- struct{}{}:
	case <-ctx.Done():
		return func() {} // the context has ended: announce anyway
	}
	_ = s.broker.Flush(ctx) // without the broker nothing comes
	s.broker.Barrier(ctx)
	return func() { <-s.announcing }
}

// announced takes the announcement of another instance, or of this one.
func (c *Conn) announced(by *wire.Request, stays bool) {
	host, id := strings.Clone(by.FromHost), strings.Clone(by.FromID)
	var content announcement
	if stays && len(by.Body) > 0 && len(by.Body) <= maxAnnouncement {
		_ = json.Unmarshal(by.Body, &content) // one without content is a greeting
	}
	if other := (client.Peer{Host: host, ID: id}); content.Digest == "" || !c.client.Knows(other) {
		c.client.Greeted(other, stays)
	}
	for _, each := range c.extensions.All() {
		each.Greeted(host, id, stays)
	}
	c.others.watchers.tell(Announcement{Host: host, ID: id, Leaves: !stays})
	switch {
	case host != c.host || id == c.id:
	case !stays, len(by.Body) > 0 && content.Digest == "": // it serves nothing any more
		c.others.differing.forget(id)
	case content.Digest != "":
		c.differs(id, content)
	}
}
