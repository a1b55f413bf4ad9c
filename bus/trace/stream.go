package trace

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// followedStream is the body of a stream on the client side. The call is remembered when it has been read or closed.
type followedStream struct {
	io.ReadCloser

	recorder *recorder
	bytes    atomic.Int64 // that were read
	once     sync.Once    // protects call
	call     record
}

// Read implements io.Reader.
func (s *followedStream) Read(data []byte) (int, error) {
	n, err := s.ReadCloser.Read(data)
	s.bytes.Add(int64(n))
	if err != nil {
		s.end(err)
	}
	return n, err
}

// WriteTo implements io.WriterTo, without copying what comes.
func (s *followedStream) WriteTo(to io.Writer) (int64, error) {
	n, err := io.Copy(to, s.ReadCloser)
	s.bytes.Add(n)
	s.end(err)
	return n, err
}

// Close implements io.Closer.
func (s *followedStream) Close() error {
	err := s.ReadCloser.Close()
	s.end(nil)
	return err
}

// Trailer returns the fields that have come at the end.
func (s *followedStream) Trailer() wire.Header {
	if source, ok := s.ReadCloser.(interface{ Trailer() wire.Header }); ok {
		return source.Trailer()
	}
	return nil
}

// end remembers the call. err is why the stream has ended.
func (s *followedStream) end(err error) {
	s.once.Do(func() {
		s.call.took, s.call.written = time.Since(s.call.began), s.bytes.Load()
		if err != nil && !errors.Is(err, io.EOF) && s.call.failure == "" {
			s.call.failure, s.call.executed = err.Error(), bus.ExecutedYes
		}
		s.recorder.remember(&s.call)
	})
}
