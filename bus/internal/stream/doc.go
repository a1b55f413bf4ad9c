// Package stream is a body that travels in parts: broker messages with one message id, each an HTTP message of its own.
// Part 1 has the whole head, the others only what assigns them to it.
//
// The number of parts is known from part 1 on, "1/3", or only with the last one, "1/*", "2/*", "3/3". A [Writer] cuts
// what is written into parts, and a [Reader] takes them in order. A subscription keeps the order of what one connection
// publishes, so a part out of turn means that another one is lost, and the body with it.
//
// A body of unknown length has a window: the writer is ahead of the reader by no more than the reader has opened, so
// neither side keeps more. A part without a body keeps it alive: the reader answers it with the window, so each side
// learns that the other one is there. A body whose parts are known has none: it is small enough to be kept whole, up to
// a limit, and all of it may be sent at once. What either side keeps counts in the account of its connection, see
// [Memory], and a window before it is opened. Both sides see one end: the whole, or an error.
package stream

import "time"

const (
	// Window is how many bytes a writer may be ahead of its reader at most.
	Window = 1 << 20
	// smallWindow is how many bytes it may be ahead at first. The window grows with what is read, so a reader that reads
	// nothing costs little.
	smallWindow = 16 << 10
	// tightWindow is the same while more than half of the memory is held.
	tightWindow = 2 << 10
	// PartSize is how many bytes a part has at most.
	PartSize = 256 << 10

	// LocalPartSize is the same for parts that stay in the process, each in memory of its own: larger ones cost the
	// collector more.
	LocalPartSize = 128 << 10
	// MaxParts is how many parts a stream has at most.
	MaxParts = 999_999_999

	// Unsent says that part 1 was not sent yet, see [WriterConfig].
	Unsent = -1

	// longestPause is the longest time between two parts.
	longestPause = 5 * time.Second
	// pausesInBudget is how many parts without a body are sent in the time that a reader waits for a part.
	pausesInBudget = 4
)

// pauseOf returns the time after which an idle writer sends a part without a body, for a reader that waits this long
// for a part.
func pauseOf(budget time.Duration) time.Duration { return min(budget/pausesInBudget, longestPause) }

// FirstWindow returns how many bytes may be sent of a stream that nothing was read of.
func FirstWindow(memory *Memory) int64 {
	if memory.IsTight() {
		return tightWindow
	}
	return smallWindow
}

// SizeOfParts returns how many bytes a part has at most, whose head has so many, if the broker takes messages of
// payload bytes; less than 1 if the head does not fit.
func SizeOfParts(head, payload int) int {
	const lengthLine = len("\r\nContent-Length: 65536")
	return min(PartSize, payload-head-lengthLine)
}
