package wire

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// interner converts bytes to strings and reuses those it has made before: messages to one endpoint have most values in
// common.
type interner struct {
	slots [64]internSlot
	chunk strings.Builder // strings that are not kept, one after the other
}

// internSlot holds one string.
type internSlot struct {
	text string // kept for reuse
	seen uint32 // hash of the last text that missed in this slot
}

const (
	maxInterned = 64            // bytes of the longest string that is kept
	chunkSize   = 2 << 10       // bytes allocated at once
	chunkShare  = chunkSize / 8 // longer strings are allocated by themselves
)

// intern returns the bytes as a string. It keeps a text at its second occurrence, so that texts that differ in every
// message replace none.
func (t *interner) intern(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if len(text) > maxInterned {
		return t.copy(text)
	}
	return t.keep(text)
}

// keep is intern for a text of any length, which is not empty.
func (t *interner) keep(text []byte) string {
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

// copy returns the bytes as a new string.
func (t *interner) copy(text []byte) string {
	if len(text) >= chunkShare {
		return string(text)
	}
	if t.chunk.Cap()-t.chunk.Len() < len(text) {
		t.chunk.Reset() // the strings in the old chunk stay valid
		t.chunk.Grow(chunkSize)
	}
	start := t.chunk.Len()
	t.chunk.Write(text)
	return t.chunk.String()[start:]
}

// hashOf hashes the first and last eight bytes of a text. A sender of texts that differ only in between slows down only
// its own messages.
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
