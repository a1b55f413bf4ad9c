package stream_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

// part is a part of a message, and its body.
type part struct {
	number, count int
	body          string
}

// newWhole returns a reader of a message without a window.
func newWhole(limit int) *stream.Reader {
	return stream.NewReader(stream.ReaderConfig{Limit: limit, Held: stream.NewMemory(1 << 30).Reserve(""),
		Ended: func(error) {}})
}

// take takes a part.
func (p part) take(message *stream.Reader) error {
	return message.Take(&wire.Fragment{Number: p.number, Count: p.count}, []byte(p.body), nil, len(p.body))
}

// takeAll takes parts until one fails.
func takeAll(limit int, parts ...part) (message *stream.Reader, err error) {
	message = newWhole(limit)
	for _, next := range parts {
		if err := next.take(message); err != nil {
			return message, err
		}
	}
	return message, nil
}

// TestReader_Whole takes the parts of a message in order.
func TestReader_Whole(t *testing.T) {
	t.Parallel()
	message, err := takeAll(6, part{1, 4, "ab"})
	require.NoError(t, err)
	for i, next := range []part{{2, 4, "cd"}, {3, 4, ""}, {4, 4, "ef"}} {
		come, all := message.Progress()
		assert.Equal(t, i+1, come)
		assert.Equal(t, 4, all)
		assert.False(t, message.HasEnded())
		require.NoError(t, next.take(message))
	}
	assert.True(t, message.HasEnded())
	assert.Equal(t, "abcdef", string(message.Body()))
}

// TestReader_WholeRepeated holds that a part that has come before leaves the message as it was.
func TestReader_WholeRepeated(t *testing.T) {
	t.Parallel()
	message, err := takeAll(3, part{1, 3, "a"}, part{2, 3, "b"})
	require.NoError(t, err)
	for number := 1; number <= 3; number++ {
		require.ErrorIs(t, part{1 + number%2, 3, "other"}.take(message), stream.ErrRepeated)
	}
	require.NoError(t, part{3, 3, "c"}.take(message))
	assert.Equal(t, "abc", string(message.Body()))
	require.Error(t, part{3, 3, "c"}.take(message), "after the last part")
}

// TestReader_WholeRejected takes parts with which the message is lost.
func TestReader_WholeRejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		parts []part // only the last one is rejected
		code  int
		text  string
	}{
		{"more parts than allowed", []part{{1, 1<<16 + 1, ""}}, 413, "the message has 65537 parts, and the limit is 65536"},
		{"too large from the first on", []part{{1, 4, "aaaa"}}, 413, "a body of at least 12 bytes exceeds the limit of 10"},
		{"too large from the last on", []part{{1, 3, "aaaa"}, {2, 3, "bbbb"}, {3, 3, "ccc"}}, 413,
			"a body of at least 11 bytes exceeds the limit of 10"},
		{"too large for 32 bits", []part{{1, 1 << 16, strings.Repeat("a", 1<<16+2)}}, 413,
			"a body of at least 4295032830 bytes exceeds the limit of 10"},
		{"another count", []part{{1, 3, "a"}, {2, 2, "b"}}, 400,
			"part 2 of 2 does not match the first part, which announced 3 parts"},
		{"another count, repeated", []part{{1, 3, "a"}, {1, 2, "a"}}, 400,
			"part 1 of 2 does not match the first part, which announced 3 parts"},
		{"a gap", []part{{1, 4, "a"}, {2, 4, "b"}, {4, 4, "d"}}, 503, "part 3 was lost on the way"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := test.parts[:len(test.parts)-1]
			_, err := takeAll(10, before...)
			require.NoError(t, err)
			_, err = takeAll(10, test.parts...)
			checkRejected(t, err, test.code, test.text)
		})
	}
}

// TestReader_WholeAtLimits takes as much as a message may have.
func TestReader_WholeAtLimits(t *testing.T) {
	t.Parallel()
	if _, err := takeAll(10, part{1, 1 << 16, ""}); err != nil {
		t.Errorf("as many parts as allowed: %v", err)
	}
	message, err := takeAll(10, part{1, 3, "aaaaa"}, part{2, 3, "bbbbb"}, part{3, 3, ""})
	require.NoError(t, err, "a body as large as allowed")
	assert.Len(t, message.Body(), 10, "a body as large as allowed")
}

// FuzzParts takes parts in any order: each byte of script is the number and the count of a part, up to 15 each.
func FuzzParts(f *testing.F) {
	f.Add(3, []byte{0x13, 0x23, 0x33}, 100)
	f.Add(3, []byte{0x13, 0x13, 0x23, 0x23, 0x33, 0x33}, 100)
	f.Add(2, []byte{0x12, 0x13}, 100)
	f.Add(9, []byte{0x1f, 0x2f, 0x4f}, 10)
	f.Fuzz(func(t *testing.T, length int, script []byte, limit int) {
		body := bytes.Repeat([]byte("b"), min(max(length, 0), 1000))
		message := newWhole(limit)
		var want []byte
		for i, step := range script {
			place := wire.Fragment{Number: int(step >> 4), Count: int(step & 15)}
			if !place.IsPart() || place.IsOpen() || (i == 0 && place.Number != 1) {
				return // the codec and the callers reject it
			}
			body = append(body, step)
			err := message.Take(&place, bytes.Clone(body), nil, len(body))
			switch {
			case errors.Is(err, stream.ErrRepeated):
				continue
			case message.HasEnded() && err != nil:
				if code := status.Of(err).Status; code != 400 && code != 413 && code != 503 {
					t.Errorf("step %d: status %d", i, code)
				}
				return
			}
			require.NoError(t, err)
			if want = append(want, body...); len(want) > limit {
				t.Fatalf("%d bytes are kept, the limit is %d", len(want), limit)
			}
			if message.HasEnded() {
				assert.Equal(t, want, message.Body())
				return
			}
		}
	})
}
