package wire

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// texts makes strings of bytes, and few of them anew: messages to one place have nearly everything in common.
type texts struct {
	slots [64]known
	chunk strings.Builder // holds the strings that were not kept, one after the other
}

// known is a string that was made before.
type known struct {
	text string
	seen uint32 // the hash of the last one that was looked for here in vain
}

const (
	longestKnown = 64            // bytes of a string that is kept
	chunkSize    = 2 << 10       // bytes that are allocated at once
	chunkShare   = chunkSize / 8 // from here on a string is allocated by itself
)

// recall returns the bytes as a string. One that comes for the second time is kept for the next; what is different in
// every message displaces nothing.
func (t *texts) recall(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if len(text) > longestKnown {
		return t.copy(text)
	}
	hash := hashOf(text)
	slot := &t.slots[hash%uint32(len(t.slots))]
	if slot.text == string(text) {
		return slot.text
	}
	if slot.seen == hash {
		slot.text = string(text)
		return slot.text
	}
	slot.seen = hash
	return t.copy(text)
}

// copy returns the bytes as a string of their own.
func (t *texts) copy(text []byte) string {
	if len(text) >= chunkShare {
		return string(text)
	}
	if t.chunk.Cap()-t.chunk.Len() < len(text) {
		t.chunk.Reset() // the strings in the old one stay as they are
		t.chunk.Grow(chunkSize)
	}
	start := t.chunk.Len()
	t.chunk.Write(text)
	return t.chunk.String()[start:]
}

// hashOf looks at the ends of a text: who makes texts that differ only in between makes his own messages slower.
func hashOf(text []byte) uint32 {
	var word uint64
	if last := len(text) - 8; last >= 0 {
		word = binary.LittleEndian.Uint64(text) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(text[last:]), 23)
	} else {
		for _, c := range text {
			word = word<<8 | uint64(c)
		}
	}
	const golden = 0x9e3779b97f4a7c15
	return uint32((word ^ uint64(len(text))) * golden >> 32)
}
