package portal

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

// contentCoding is a way to compress bodies. A compressor has one or two megabytes of memory, and takes longer to make than most
// bodies take to compress, so compressors are used again.
type contentCoding struct {
	name string // in Accept-Encoding and Content-Encoding
	make func() compressor
	free sync.Pool // of compressor
}

// brotliOptions: the lowest quality that makes less of a short document than gzip does, and a window of 256 KiB, as one of 4 MiB takes
// 10 MiB of memory and makes nothing smaller that is shorter than that.
//
//nolint:gochecknoglobals // does not change
var brotliOptions = brotli.WriterOptions{Quality: 4, LGWin: 18}

// codings are those that clients can have, the first one if they like several as much: brotli makes less of a body than gzip, and
// takes longer.
//
//nolint:gochecknoglobals // all ingresses share the compressors
var codings = []*contentCoding{
	{name: "br", make: func() compressor { return brotli.NewWriterOptions(io.Discard, brotliOptions) }},
	{name: "gzip", make: func() compressor { return gzip.NewWriter(io.Discard) }},
}

// preferredCoding returns the coding that a client likes best, nil if it accepts none: RFC 9110, 12.5.3.
func preferredCoding(header http.Header) (preferred *contentCoding) {
	best := 0.0
	for _, coding := range codings {
		if weight := weightOf(header, coding.name); weight > best {
			preferred, best = coding, weight
		}
	}
	return preferred
}

// weightOf returns how much a client likes a coding, above 0 if it accepts that. What is malformed counts as not accepted.
func weightOf(header http.Header, coding string) (weight float64) {
	for member := range listed(header, "Accept-Encoding") {
		name, parameters, err := mime.ParseMediaType(member)
		if err != nil || (name != "*" && name != coding) {
			continue
		}
		weight = 1
		if q, isWeighted := parameters["q"]; isWeighted {
			weight, _ = strconv.ParseFloat(q, 64) // 0 if it is no number
		}
		if name == coding { // which counts more than any other
			break
		}
	}
	return weight
}

// compressor compresses what is written to it, until it is closed.
type compressor interface {
	io.WriteCloser
	Reset(destination io.Writer)
}

// compress returns a writer that writes to another one what it compresses. It is to be closed, and not used after that.
func (c *contentCoding) compress(w io.Writer) io.WriteCloser {
	taken, isUsed := c.free.Get().(compressor)
	if !isUsed {
		taken = c.make()
	}
	taken.Reset(w)
	return &takenCompressor{taken, c}
}

type takenCompressor struct {
	compressor

	of *contentCoding
}

// Close ends the body, and gives the compressor back.
func (t *takenCompressor) Close() error {
	err := t.compressor.Close()
	t.Reset(io.Discard) // or it would keep the response in memory
	t.of.free.Put(t.compressor)
	return err
}
