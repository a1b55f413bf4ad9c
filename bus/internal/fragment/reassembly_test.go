package fragment_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// part is a fragment and its body.
type part struct {
	number, count int
	body          string
}

// reassemble adds parts until one fails.
func reassemble(limit int, parts ...part) (message *fragment.Reassembly, err error) {
	for i, next := range parts {
		place, body := wire.Fragment{Number: next.number, Count: next.count}, []byte(next.body)
		if i == 0 {
			message, err = fragment.NewReassembly(place, body, limit)
		} else {
			err = message.Add(place, body)
		}
		if err != nil {
			return message, err
		}
	}
	return message, nil
}

// TestReassembly_Add adds the fragments of a message in order.
func TestReassembly_Add(t *testing.T) {
	t.Parallel()
	message, err := reassemble(6, part{1, 4, "ab"})
	require.NoError(t, err)
	for i, next := range []part{{2, 4, "cd"}, {3, 4, ""}, {4, 4, "ef"}} {
		come, all := message.Progress()
		assert.Equal(t, i+1, come)
		assert.Equal(t, 4, all)
		assert.False(t, message.IsComplete())
		require.NoError(t, message.Add(wire.Fragment{Number: next.number, Count: next.count}, []byte(next.body)))
	}
	body := message.Body()
	assert.True(t, message.IsComplete())
	assert.Equal(t, "abcdef", string(body))
}

// TestReassembly_Add_Repeated holds that a fragment that has come before leaves the message as it was.
func TestReassembly_Add_Repeated(t *testing.T) {
	t.Parallel()
	message, err := reassemble(3, part{1, 3, "a"}, part{2, 3, "b"})
	require.NoError(t, err)
	for number := 1; number <= 3; number++ {
		if err := message.Add(wire.Fragment{Number: 1 + number%2, Count: 3}, []byte("other")); !errors.Is(err, fragment.ErrRepeated) {
			t.Errorf("the error is %v", err)
		}
	}
	err = message.Add(wire.Fragment{Number: 3, Count: 3}, []byte("c"))
	require.NoError(t, err)
	assert.Equal(t, "abc", string(message.Body()))
	if err := message.Add(wire.Fragment{Number: 3, Count: 3}, []byte("c")); !errors.Is(err, fragment.ErrRepeated) {
		t.Errorf("the error after the last fragment is %v", err)
	}
}

// TestReassembly_Add_Rejected adds fragments with which the message is lost.
func TestReassembly_Add_Rejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		parts []part // only the last one is rejected
		code  int
		text  string
	}{
		{"more fragments than allowed", []part{{1, 1<<16 + 1, ""}}, 413, "the message has 65537 parts, and the limit is 65536"},
		{"too large from the first on", []part{{1, 4, "aaaa"}}, 413, "a body of at least 12 bytes exceeds the limit of 10"},
		{"too large from the last on", []part{{1, 3, "aaaa"}, {2, 3, "bbbb"}, {3, 3, "ccc"}}, 413, "a body of at least 11 bytes exceeds the limit of 10"},
		{"too large for 32 bits", []part{{1, 1 << 16, strings.Repeat("a", 1<<16+2)}}, 413, "a body of at least 4295032830 bytes exceeds the limit of 10"},
		{"another count", []part{{1, 3, "a"}, {2, 2, "b"}}, 400, "part 2 of 2 does not match the first part, which announced 3 parts"},
		{"another count, repeated", []part{{1, 3, "a"}, {1, 2, "a"}}, 400, "part 1 of 2 does not match the first part, which announced 3 parts"},
		{"a gap", []part{{1, 4, "a"}, {2, 4, "b"}, {4, 4, "d"}}, 503, "part 3 of 4 was lost on the way"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := test.parts[:len(test.parts)-1]
			_, err := reassemble(10, before...)
			require.NoError(t, err)
			_, err = reassemble(10, test.parts...)
			checkRejected(t, err, test.code, test.text)
		})
	}
}

// TestReassembly_Add_AtLimits adds as much as a message may have.
func TestReassembly_Add_AtLimits(t *testing.T) {
	t.Parallel()
	if _, err := reassemble(10, part{1, 1 << 16, ""}); err != nil {
		t.Errorf("as many fragments as allowed: %v", err)
	}
	message, err := reassemble(10, part{1, 3, "aaaaa"}, part{2, 3, "bbbbb"}, part{3, 3, ""})
	require.NoError(t, err, "a body as large as allowed")
	assert.Len(t, message.Body(), 10, "a body as large as allowed")
}

// FuzzParts adds fragments in any order: each byte of script is the number and the count of a fragment, up to 15 each.
func FuzzParts(f *testing.F) {
	f.Add(3, []byte{0x13, 0x23, 0x33}, 100)
	f.Add(3, []byte{0x13, 0x13, 0x23, 0x23, 0x33, 0x33}, 100)
	f.Add(2, []byte{0x12, 0x13}, 100)
	f.Add(9, []byte{0x1f, 0x2f, 0x4f}, 10)
	f.Fuzz(func(t *testing.T, length int, script []byte, limit int) {
		body := bytes.Repeat([]byte("b"), min(max(length, 0), 1000))
		var message *fragment.Reassembly
		var want []byte
		for i, step := range script {
			place := wire.Fragment{Number: int(step >> 4), Count: int(step & 15)}
			if !place.IsPart() || (message == nil && place.Number != 1) {
				return // the codec and the callers reject it
			}
			body = append(body, step)
			var err error
			if message == nil {
				message, err = fragment.NewReassembly(place, body, limit)
			} else {
				err = message.Add(place, body)
			}
			if errors.Is(err, fragment.ErrRepeated) {
				continue
			}
			if err != nil {
				if code := status.Of(err).Status; code != 400 && code != 413 && code != 503 {
					t.Errorf("step %d: status %d", i, code)
				}
				return
			}
			if want = append(want, body...); len(want) > max(limit, len(body)) {
				t.Fatalf("%d bytes are kept, the limit is %d", len(want), limit)
			}
			if message.IsComplete() && !bytes.Equal(message.Body(), want) {
				t.Fatalf("the body has %d bytes, want %d", len(message.Body()), len(want))
			}
		}
	})
}
