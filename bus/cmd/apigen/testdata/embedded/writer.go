package embedded

import (
	"context"
	time "time"
)

// Writer is in another file.
type Writer interface {
	// Save saves it.
	Save(ctx context.Context, entry Entry, keep time.Duration) (err error)
	// Find is there twice, and counts once.
	Find(ctx context.Context, name string) (entry Entry, err error)
}

// Entry is an entry.
type Entry struct{ Name string }
