package trace

import (
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/wire"
)

// parentField is the header field that names the trace and the span of a request.
const parentField = "Traceparent"

const (
	parentSize = 55 // "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	idSize     = 32 // digits of a trace id
	spanSize   = 16
	idAt       = 3
	spanAt     = idAt + idSize + 1
	flagsAt    = spanAt + spanSize // with the dash
)

// isParent reports whether a text has the form of a Traceparent. Its digits are looked at when calls are read.
func isParent(text string) bool {
	return len(text) >= parentSize && text[idAt-1] == '-' && text[spanAt-1] == '-' && text[flagsAt] == '-'
}

// isHex reports whether a text has lower-case hexadecimal digits alone, not all of them zero.
func isHex(text string) bool {
	isZero := true
	for i := range len(text) {
		c := text[i]
		if (c < '0' || '9' < c) && (c < 'a' || 'f' < c) {
			return false
		}
		isZero = isZero && c == '0'
	}
	return !isZero
}

// sampled are the flags of a Traceparent that begins here, so that tracers behind it keep its spans.
const sampled = "-01"

// appendParent appends a Traceparent with a new span. Spans are no secrets, and none is zero.
func appendParent(to []byte, id, flags string) []byte {
	to = append(append(append(to, "00-"...), id...), '-')
	to = appendHex(to, rand.Uint64()|1) //nolint:gosec // see above
	return append(to, flags...)
}

// appendHex appends 16 digits.
func appendHex(to []byte, number uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		to = append(to, digits[number>>shift&15])
	}
	return to
}

// ParseID returns the trace id in a text: the id itself, 32 hexadecimal digits, or a whole Traceparent. The error says
// what an id looks like.
func ParseID(text string) (id string, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	id = text
	if isParent(text) {
		id = text[idAt : idAt+idSize]
	}
	if !isID(id) {
		return "", fmt.Errorf("%.60q is not the id of a trace: pass 32 hexadecimal digits, such as "+
			"4bf92f3577b34da6a3ce929d0e0e4736, or a whole Traceparent", text)
	}
	return id, nil
}

func isID(id string) bool { return len(id) == idSize && isHex(id) }

// NewTraceparent returns a Traceparent of a new trace, and the id of that. A request with it in its header begins the
// trace:
//
//	field, id := trace.NewTraceparent()
//	err := conn.Call(bus.WithOutgoingHeader(ctx, "Traceparent", field), address, arguments, &result)
func NewTraceparent() (field, id string) {
	id = callctx.RootTraceID(cryptorand.Text())
	return string(appendParent(nil, id, sampled)), id
}

// Sizes of a chunk. A header that is kept keeps the chunk.
const (
	chunkTexts  = 64 * parentSize
	chunkFields = 128
)

// chunk has the memory of headers that were added to, so that most calls allocate nothing for that.
type chunk struct {
	texts  strings.Builder
	fields []wire.Field
}

// minter adds a Traceparent to headers. It is safe for concurrent use.
type minter struct{ chunks sync.Pool }

// add returns a header with a new Traceparent in place of those that it has.
func (m *minter) add(header wire.Header, id, flags string) wire.Header {
	c, _ := m.chunks.Get().(*chunk)
	if c == nil || c.texts.Cap()-c.texts.Len() < parentSize || cap(c.fields)-len(c.fields) <= len(header) {
		c = &chunk{fields: make([]wire.Field, 0, max(chunkFields, len(header)+1))}
		c.texts.Grow(chunkTexts)
	}
	var room [parentSize]byte
	start, first := c.texts.Len(), len(c.fields)
	c.texts.Write(appendParent(room[:0], id, flags))
	for i := range header {
		if !strings.EqualFold(header[i].Name, parentField) {
			c.fields = append(c.fields, header[i])
		}
	}
	c.fields = append(c.fields, wire.Field{Name: parentField, Value: c.texts.String()[start:]})
	added := c.fields[first:len(c.fields):len(c.fields)]
	m.chunks.Put(c)
	return added
}
