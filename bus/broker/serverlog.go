package broker

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// faultLog is the server's logger. It prints nothing; it keeps the first fatal message, which is the only way in which
// the server says why it could not start, and reports writes that failed because a disk was full.
type faultLog struct {
	diskFull chan struct{} // room for one report

	mu  sync.Mutex // protects err
	err error
}

func newFaultLog() *faultLog { return &faultLog{diskFull: make(chan struct{}, 1)} }

// Errorf reports that a disk is full, if that is what the message is about.
func (l *faultLog) Errorf(_ string, arguments ...any) {
	for _, argument := range arguments {
		if err, ok := argument.(error); ok && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
			select {
			case l.diskFull <- struct{}{}:
			default:
			}
		}
	}
}

// Fatalf keeps the message. The server does not stop by itself: the logger of a program would exit here.
func (l *faultLog) Fatalf(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = asError(format, arguments)
	}
}

// first returns the first fatal message, nil if there was none.
func (l *faultLog) first() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// asError returns the error among the arguments, which can be unwrapped, or otherwise the text.
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

// The other methods of a logger, called while the server runs.
func (*faultLog) Warnf(string, ...any)   {}
func (*faultLog) Noticef(string, ...any) {}
func (*faultLog) Debugf(string, ...any)  {}
func (*faultLog) Tracef(string, ...any)  {}
