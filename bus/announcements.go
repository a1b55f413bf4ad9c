package bus

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Announcement says that an instance of the plane has come, has something new, or leaves.
type Announcement struct {
	// Host and ID are those of the instance, as it has told them: any user of the broker who may publish announcements can tell others.
	Host, ID string
	// Leaves says that the instance closes. If it is false the instance has come, or serves something new.
	Leaves bool
	// Missed says that announcements may have been missed, because the broker was away or too many came. Host and ID are empty then.
	Missed bool
}

// WatchAnnouncements has heard called for each announcement of an instance of the plane, this one included, until stop is called. Who wants
// to know what runs asks all instances once, with a multicast to https://all:888/ping, and again after an announcement with Missed.
// An instance that dies announces nothing. Nothing is heard if the broker denies it: see [Conn.Restrictions]. Messages that were dropped,
// see [Stats], may have been announcements, too.
//
// heard runs on the goroutine that receives all messages of the process, and must neither block nor call. It may be called concurrently, and
// once more while stop runs. WatchAnnouncements and stop are safe for concurrent use.
func (c *Conn) WatchAnnouncements(heard func(Announcement)) (stop func()) {
	return c.watchers.add(heard)
}

// announcementWatchers are called for each announcement. The zero value has none.
type announcementWatchers struct {
	mu  sync.Mutex // of those who change all
	all atomic.Pointer[[]*announcementWatcher]
}

type announcementWatcher struct{ heard func(Announcement) }

func (w *announcementWatchers) add(heard func(Announcement)) (stop func()) {
	added := &announcementWatcher{heard}
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
			each.heard(announcement)
		}
	}
}
