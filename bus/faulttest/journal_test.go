package faulttest_test

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// journal is where a handler writes down a call before it works on it.
type journal interface{ note(id uint64) error }

// entry says when a handler began.
type entry struct {
	id    uint64
	began time.Time
}

// memoryJournal is for instances of this process.
type memoryJournal struct {
	mu      sync.Mutex // protects entries
	entries []entry
}

func (j *memoryJournal) note(id uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry{id, time.Now()})
	return nil
}

// fileJournal is for instances that are to be killed: what was written to a file is there, however its process ends.
type fileJournal struct{ file *os.File }

func openJournal(path string) (fileJournal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return fileJournal{file}, err
}

func (j fileJournal) note(id uint64) error {
	_, err := fmt.Fprintf(j.file, "%d %d\n", id, time.Now().UnixNano())
	return err
}

// readJournal returns what a process has written. A line is written at once, so that none is half there.
func readJournal(path string) (entries []entry, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var id uint64
		var nanoseconds int64
		if _, err := fmt.Sscanf(string(line), "%d %d\n", &id, &nanoseconds); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		entries = append(entries, entry{id, time.Unix(0, nanoseconds)})
	}
	return entries, nil
}
