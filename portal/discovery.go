package portal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/calltap"
	"github.com/busline/busline/portal/internal/answer"
	"github.com/busline/busline/portal/internal/plane"
)

const (
	// pingAge is how long the portal relies on announcements while it is looked at. Then it asks the whole plane, to find
	// instances that died without an announcement.
	pingAge = time.Minute
	// missedAge is how long the portal does not ask the whole plane again although announcements were missed: in a flood
	// some always are.
	missedAge = 5 * time.Second
	// maxAsked is how many instances are asked one by one; if more have announced themselves, the whole plane is asked.
	maxAsked = 128
)

// discovery knows which instances run on the plane, for all callers. It asks the whole plane at first, when
// announcements may have been missed, every 5 s at most, and once a minute; in between, only instances that have
// announced that they come, leave or changed. An instance that announces that it leaves is asked, too: others could say
// so in its name. Without a reader nothing is asked. It is safe for concurrent use.
type discovery struct {
	conn    *bus.Conn
	ports   []int // the public ones
	timeout time.Duration
	now     func() time.Time
	roster  plane.Roster
	looks   plane.Shared[*presence]

	mu     sync.Mutex              // protects all below
	marked map[plane.Peer]struct{} // to be asked by the next look; at most maxAsked
	// those that were marked without an announcement, since the whole plane was asked; at most maxPeers
	rechecked map[plane.Peer]struct{}
	missed    bool      // the whole plane is to be asked, missedAge after asked
	asked     time.Time // when the whole plane was asked the last time
	due       time.Time // when the whole plane is to be asked at the latest
	overflow  int64     // messages that the connection had dropped at the last look
	latest    *presence

	// Only the running look uses these.
	pause time.Duration // until the whole plane is asked again
	count uint64        // of looks
}

func newDiscovery(conn *bus.Conn, config *portalConfig) *discovery {
	d := &discovery{
		conn: conn, ports: config.ports, timeout: config.timeouts.discovery, now: config.now, missed: true,
		marked: make(map[plane.Peer]struct{}), rechecked: make(map[plane.Peer]struct{}), latest: new(presence),
	}
	d.looks = plane.Shared[*presence]{
		Age: func(*presence) time.Duration { return pingAge }, Changed: d.changed,
		Timeout: 2*d.timeout + answer.Margin, Now: config.now, Look: d.look,
	}
	return d
}

// noteAnnouncement records an announcement. It does not block.
func (d *discovery) noteAnnouncement(announced bus.Announcement) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if announced.Missed {
		d.missed = true
		return
	}
	d.markLocked(plane.Peer{Host: announced.Host, ID: announced.ID})
}

func (d *discovery) markLocked(of plane.Peer) {
	if len(d.marked) < maxAsked {
		d.marked[of] = struct{}{}
	} else {
		d.missed = true
	}
}

// recheck marks instances that should have answered something else, so that the next look asks them. It does so once
// between two looks at the whole plane.
func (d *discovery) recheck(all ...plane.Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range all {
		if _, was := d.rechecked[each]; !was && len(d.rechecked) < plane.MaxPeers {
			d.rechecked[each] = struct{}{}
			d.markLocked(each)
		}
	}
}

// recheckHost marks the instances of a host, or one instance, so that the next look asks them:
// "3k8qz1v0.calculator.example". Only those that run can be asked again.
func (d *discovery) recheckHost(host string) {
	d.mu.Lock()
	found := d.latest
	d.mu.Unlock()
	if id, of, _ := strings.Cut(host, "."); found.runs(plane.Peer{Host: of, ID: id}) {
		d.recheck(plane.Peer{Host: of, ID: id})
		return
	}
	for from := range found.running {
		if from.Host == host {
			d.recheck(from)
		}
	}
}

// changed reports whether there is something to ask.
func (d *discovery) changed() bool {
	overflow := d.conn.Stats().SlowConsumerDropped
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missed = d.missed || overflow != d.overflow
	d.overflow = overflow
	return d.isDueLocked() || len(d.marked) > 0
}

// isDueLocked reports whether the whole plane is to be asked now.
func (d *discovery) isDueLocked() bool {
	now := d.now()
	return !now.Before(d.due) || d.missed && now.Sub(d.asked) >= missedAge
}

// read returns what runs. The result is the same as before if nothing has changed.
func (d *discovery) read(ctx context.Context) (*presence, error) {
	if !d.conn.Connected() {
		return nil, plane.ErrNoBroker()
	}
	return d.looks.Read(ctx)
}

// look asks what has to be asked. Not even the portal's own instance answers if the broker cannot be reached.
func (d *discovery) look(ctx context.Context, began time.Time) (*presence, error) {
	d.count++
	d.mu.Lock()
	before, marked := d.latest, slices.Collect(maps.Keys(d.marked))
	all := d.isDueLocked()
	clear(d.marked)
	if all {
		d.missed = false
		clear(d.rechecked)
	}
	d.mu.Unlock()
	a := &attendance{discovery: d, before: before, all: all, answering: d.roster.Gather(),
		running: make(map[plane.Peer]instance, len(before.running))}
	if !all {
		a.keepAllBut(marked)
		a.ask(ctx, marked)
		return d.finish(a), nil
	}
	if err := a.askAll(ctx); err != nil {
		d.noteAnnouncement(bus.Announcement{Missed: true})
		return nil, err
	}
	d.mu.Lock()
	d.asked, d.due = began, began.Add(d.pause)
	d.mu.Unlock()
	return d.finish(a), nil
}

// attendance collects the instances that run, in one look.
type attendance struct {
	*discovery

	before    *presence
	all       bool // the whole plane is asked
	answering *plane.Candidates
	mu        sync.Mutex // protects answering and all below while instances are asked one by one
	running   map[plane.Peer]instance
	announced []plane.Peer // that have answered, having announced themselves
}

// keepAllBut keeps the instances that are known, except for those that are asked.
func (a *attendance) keepAllBut(asked []plane.Peer) {
	maps.Copy(a.running, a.before.running)
	for _, each := range asked {
		delete(a.running, each)
	}
	for from := range a.running {
		a.answering.Add(from)
	}
}

// askAll asks the whole plane, and then one by one those that did not answer but did before.
func (a *attendance) askAll(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	own := false
	err := plane.CallAll(limited, a.conn, "/ping", func(from plane.Peer, body []byte, err error) {
		if err == nil && plane.IsOwnPing(from, body) && a.answering.Add(from) {
			a.running[from] = a.publicPart(from, body)
			own = own || from.ID == a.conn.ID()
		}
	})
	if err != nil {
		return err
	}
	switch {
	case !own: // the broker lets the portal receive nothing that is for all instances, and so no announcements, either
		a.pause = maxAge
	case limited.Err() != nil: // there may be more
		a.pause = min(max(2*a.pause, maxAge), pingAge) //nolint:mnd // twice
	default:
		a.pause = pingAge
	}
	var silent []plane.Peer
	for from := range a.before.running {
		if _, answered := a.running[from]; !answered {
			silent = append(silent, from)
		}
	}
	if len(silent) <= maxAsked {
		a.ask(ctx, silent)
	}
	return nil
}

// ask asks instances at the same time, so that none that takes its time keeps another from answering. Those that do not
// answer are left out, and asked once more by the next look if they are there.
func (a *attendance) ask(ctx context.Context, all []plane.Peer) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	inParallel(len(all), maxAsked, func(at int) {
		from := all[at]
		body, err := a.ping(ctx, from)
		switch {
		case errors.Is(err, bus.ErrNoResponder):
			return
		case err != nil:
			a.recheck(from)
			return
		case !plane.IsOwnPing(from, body):
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.answering.Add(from) {
			a.running[from] = a.publicPart(from, body)
			a.announced = append(a.announced, from)
		}
	})
}

// ping asks one instance.
func (d *discovery) ping(ctx context.Context, from plane.Peer) ([]byte, error) {
	if !from.IsValid() {
		return nil, fmt.Errorf("%q is no instance", from.String())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+from.String()+":888/ping", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := d.conn.Do(request)
	if err != nil {
		return nil, err
	}
	if by := plane.PeerOf(response); by != from {
		return nil, fmt.Errorf("%s answers in place of %s", by, from)
	}
	return plane.ReadReport(response)
}

// finish ends a look, and returns its result.
func (d *discovery) finish(a *attendance) *presence {
	admitted, leftOut := a.answering.Admit()
	if !a.all {
		leftOut = max(leftOut, a.before.leftOut)
	}
	running, touched := make(map[plane.Peer]instance, len(admitted)), make(map[string]bool)
	for _, from := range admitted {
		of := a.running[from]
		running[from] = of
		if before, known := a.before.running[from]; !known || !before.equal(of) {
			touched[from.Host] = true
		}
	}
	for _, from := range a.announced {
		touched[from.Host] = true
	}
	for from := range a.before.running {
		if _, stays := running[from]; !stays {
			touched[from.Host] = true
		}
	}
	if len(touched) == 0 && leftOut == a.before.leftOut {
		return a.before
	}
	found := newPresence(admitted, running, leftOut)
	for host := range found.generations {
		if found.generations[host] = a.before.generations[host]; touched[host] {
			found.generations[host] = d.count
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = found
	return found
}

// newPresence describes what runs; admitted are the instances in the order in which they are to be asked.
func newPresence(admitted []plane.Peer, running map[plane.Peer]instance, leftOut int) *presence {
	found := &presence{running: running, instances: make(map[string][]instance), leftOut: leftOut,
		generations: make(map[string]uint64)}
	listed := make(map[hostPort]bool)
	for _, from := range admitted {
		found.generations[from.Host] = 0
		ports := running[from].Ports
		if len(ports) > 0 {
			found.instances[from.Host] = append(found.instances[from.Host], running[from])
		}
		for _, port := range ports {
			if at := (hostPort{from.Host, port}); !listed[at] {
				listed[at] = true
				found.places = append(found.places, at)
			}
		}
	}
	found.hosts = slices.Sorted(maps.Keys(found.generations))
	for _, of := range found.instances {
		slices.SortFunc(of, instance.compare)
	}
	return found
}

// publicPart reads the answer of one instance to a ping. The portal's own answers have no public part.
func (d *discovery) publicPart(from plane.Peer, body []byte) (public instance) {
	var answer struct {
		Version string `json:"version"`
		Ports   []int  `json:"ports"`
		Digest  string `json:"digest"`

		NotReady string `json:"notReady"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&answer) != nil || from.Host == d.conn.Host() {
		return instance{}
	}
	public.ID, public.NotReady = from.ID, answer.NotReady != ""
	if len(answer.Version) <= maxVersion {
		public.Version = answer.Version
	}
	if len(answer.Digest) <= maxDigest {
		public.Digest = presentable(answer.Digest)
	}
	for _, port := range answer.Ports {
		if slices.Contains(d.ports, port) {
			public.Ports = append(public.Ports, port)
		}
	}
	return public
}

// instances returns the instances that run.
func (d *discovery) instances(ctx context.Context) (all []calltap.Instance, err error) {
	found, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	for from := range found.running {
		all = append(all, calltap.Instance{Host: from.Host, ID: from.ID})
	}
	return all, nil
}
