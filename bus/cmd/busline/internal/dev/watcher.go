package dev

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// An editor that saves a file, or a tool that writes several, causes many changes within a moment.
const (
	quietTime   = 50 * time.Millisecond // after the last change, the programs are built
	longestTime = time.Second           // after the first change they are built in any case
)

// watcher tells programs of changes in their folders.
type watcher struct {
	files *fsnotify.Watcher

	mu       sync.Mutex            // protects programs
	programs map[string][]*program // by folder
}

func newWatcher() (*watcher, error) {
	files, err := fsnotify.NewWatcher()
	return &watcher{files: files, programs: make(map[string][]*program)}, err
}

// watch tells a program of changes in more folders. Those above are watched, too: a folder may be removed and come
// back, as with another branch, and then has to be added again.
func (w *watcher) watch(p *program, folders []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range folders {
		if !slices.Contains(w.programs[each], p) {
			w.programs[each] = append(w.programs[each], p)
		}
		for _, folder := range append(foldersAbove(each), each) {
			if err := w.files.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// foldersAbove returns the folders above one, up to the current one; without that the next one alone.
func foldersAbove(folder string) (above []string) {
	root, err := filepath.Abs(".")
	if err != nil || !strings.HasPrefix(folder, root+string(filepath.Separator)) {
		return []string{filepath.Dir(folder)}
	}
	for folder != root {
		folder = filepath.Dir(folder)
		above = append(above, folder)
	}
	return above
}

// run tells of changes until ctx ends.
func (w *watcher) run(ctx context.Context, say func(format string, values ...any)) {
	var changed map[*program]bool
	var first time.Time
	quiet := time.NewTimer(0)
	<-quiet.C
	defer quiet.Stop()
	for {
		select {
		case event := <-w.files.Events:
			programs := w.of(event)
			if len(programs) == 0 {
				continue
			}
			if len(changed) == 0 {
				changed, first = make(map[*program]bool), time.Now()
			}
			for _, each := range programs {
				changed[each] = true
			}
			quiet.Reset(max(0, min(quietTime, longestTime-time.Since(first))))
		case <-quiet.C:
			for each := range changed {
				each.change()
			}
			changed = nil
		case err := <-w.files.Errors:
			if err != nil {
				say("watching files: %v; save a file again if its program does not follow", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// of returns the programs whose source an event may have changed: that of a file, or of a folder that has come.
func (w *watcher) of(event fsnotify.Event) (programs []*program) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if isSource(event) {
		programs = slices.Clone(w.programs[filepath.Dir(event.Name)])
	}
	if !event.Has(fsnotify.Create) {
		return programs
	}
	for folder, of := range w.programs {
		if folder == event.Name || strings.HasPrefix(folder, event.Name+string(filepath.Separator)) {
			programs = append(programs, of...)
		}
	}
	return programs
}

// isSource reports whether a change may be one of a program: not of its tests, of the files that editors leave for a
// moment, or of permissions alone.
func isSource(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return event.Op != fsnotify.Chmod && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, ".") &&
		!strings.HasSuffix(name, "~") && filepath.Ext(name) != "" && filepath.Ext(name) != ".key" &&
		filepath.Ext(name) != ".jwks"
}
