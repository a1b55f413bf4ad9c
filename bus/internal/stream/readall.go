package stream

import (
	"errors"
	"io"
	"slices"
)

// ReadAll reads all of from, at most limit bytes, into memory that it takes from held and its caller gives back. Beyond
// the limit the error is that of [TooLarge]; without memory, that of [MemoryFull]. The pieces are counted, and not the
// moment in which they are joined: it is as long as a copy.
func ReadAll(from io.Reader, limit int, held *Reservation) ([]byte, error) {
	const smallest, largest = 4 << 10, 256 << 10
	var pieces [][]byte
	var piece []byte // the last one, which is not full
	size := 0
	for {
		if len(piece) == cap(piece) {
			more := min(max(2*cap(piece), smallest), largest)
			if err := held.Grow(more); err != nil {
				return nil, err
			}
			pieces, piece = append(pieces, piece), make([]byte, 0, more)
		}
		n, err := from.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		switch size += n; {
		case size > limit:
			return nil, TooLarge(int64(size), limit)
		case errors.Is(err, io.EOF):
			return slices.Concat(append(pieces, piece)...), nil
		case err != nil:
			return nil, err
		}
	}
}
