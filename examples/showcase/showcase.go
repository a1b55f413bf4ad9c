package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
)

// drainTimeout is how long the calls in flight may take at the end: more than the 20 s that a call has.
const drainTimeout = 30 * time.Second

// showcase is what has been opened so far.
type showcase struct {
	brokerURL      string // where other processes join, "" while unknown
	connectOptions []bus.ConnectOption
	sights         []sight
	closers        []func(context.Context) error
}

// connect joins the bus as a host, until the end.
func (s *showcase) connect(ctx context.Context, host string, options ...bus.ConnectOption) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, host, slices.Concat(s.connectOptions,
		[]bus.ConnectOption{bus.WithVersion("1"), trace.Record(trace.Operators(""))}, options)...)
	if err != nil {
		return nil, err
	}
	s.atEnd(conn.Close)
	return conn, nil
}

// atEnd closes something at the end, before all that was opened earlier.
func (s *showcase) atEnd(closer func(context.Context) error) { s.closers = append(s.closers, closer) }

// close closes all in turn, and reports what failed.
func (s *showcase) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var failed []error
	for _, closer := range slices.Backward(s.closers) {
		failed = append(failed, closer(ctx))
	}
	return errors.Join(failed...)
}
