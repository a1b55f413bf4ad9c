package msgsvc

import (
	"context"
	"net/http"

	"github.com/busline/busline/bus"
)

// cache keeps entries for all replicas of a service: what is stored through one is found through any. Keys and
// values are any bytes; a key has 1 to 1024 of them. All methods are safe for concurrent use.
//
// Errors have a status: 400 for a key that is none, 413 for an entry that is too large, 503 and 504 when the
// replicas or the broker could not be asked.
type cache interface {
	// Store keeps a value under a key, in place of the one before. After an error the value may be there or not.
	Store(ctx context.Context, key, value string) error
	// Load returns the value of a key. That there is none is not an error.
	Load(ctx context.Context, key string) (value string, found bool, err error)
	// Close ends this replica's part in the cache.
	Close(ctx context.Context) error
}

// maxKeyLength is the longest key in bytes. As a subject, where JetStream needs it, it is a third longer, and
// still far from the 4096 bytes that a broker takes.
const maxKeyLength = 1024

// entryOverhead is what an entry costs beside its key and its value, in bytes: the index and the list in memory,
// stamp and names in a message.
const entryOverhead = 256

// entrySize returns how many bytes an entry counts for, wherever a limit is.
func entrySize(keyLength, valueLength int) int { return keyLength + valueLength + entryOverhead }

// validKey refuses what cannot be a key, with status 400.
func validKey(key string) error {
	if key == "" {
		return bus.Errorf(http.StatusBadRequest, "the key is empty")
	}
	if len(key) > maxKeyLength {
		return bus.Errorf(http.StatusBadRequest, "a key of %d bytes exceeds the limit of %d", len(key), maxKeyLength)
	}
	return nil
}

// fits refuses an entry that is too large, with status 413.
func fits(key, value string, limit int) error {
	if size := entrySize(len(key), len(value)); size > limit {
		return bus.Errorf(http.StatusRequestEntityTooLarge,
			"an entry of %d bytes (key, value and %d of book-keeping) exceeds the limit of %d", size, entryOverhead, limit)
	}
	return nil
}
