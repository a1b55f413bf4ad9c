package broker

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// serverLog is the server's logger. It prints nothing. It keeps the first fatal message, as the server reports in no
// other way why it could not start, and signals writes that failed because a disk was full.
type serverLog struct {
	diskFull chan struct{} // buffered for one signal

	mu  sync.Mutex // protects err
	err error      // the first fatal message
}

func newServerLog() *serverLog { return &serverLog{diskFull: make(chan struct{}, 1)} }

// Errorf signals diskFull if an argument is an error of a full disk.
func (l *serverLog) Errorf(_ string, arguments ...any) {
	for _, argument := range arguments {
		if err, ok := argument.(error); ok && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
			select {
			case l.diskFull <- struct{}{}:
			default:
			}
		}
	}
}

// Fatalf keeps the message. The server relies on its logger to exit, and does not stop by itself.
func (l *serverLog) Fatalf(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = asError(format, arguments)
	}
}

// first returns the first fatal message, nil if there was none.
func (l *serverLog) first() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// asError returns the first error among the arguments, so that it can be unwrapped, or else the formatted text.
func asError(format string, arguments []any) error {
	for _, argument := range arguments {
		if err, ok := argument.(error); ok {
			return err
		}
	}
	return fmt.Errorf(format, arguments...)
}

// explain adds a remedy to the reason why the server did not start.
func (s *settings) explain(err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("broker: %w; give Listen another address, port 0 takes any free port", err)
	}
	if s.directory != "" {
		return fmt.Errorf("broker: JetStream in %q: %w; give it a directory that can be written", s.directory, err)
	}
	return fmt.Errorf("broker: %w", err)
}

// The other methods of a logger do nothing.
func (*serverLog) Warnf(string, ...any)   {}
func (*serverLog) Noticef(string, ...any) {}
func (*serverLog) Debugf(string, ...any)  {}
func (*serverLog) Tracef(string, ...any)  {}
