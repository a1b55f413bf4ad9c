package interceptors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// script is the inside of a chain: each call ends as the next entry says, with success when there is none.
type script struct {
	ends  []error
	calls int
}

func (s *script) call(context.Context, *bus.Exchange) error {
	s.calls++
	if len(s.ends) == 0 {
		return nil
	}
	err := s.ends[0]
	s.ends = s.ends[1:]
	return err
}

// clientCall is a call that a connection makes.
func clientCall() *bus.Exchange {
	return &bus.Exchange{Side: bus.ClientSide, Address: subject.Address{Host: "till.example"}, Request: new(wire.Request)}
}

// failed is the end of a call.
func failed(status int, executed bus.Executed) error {
	return &bus.Error{Status: status, Executed: executed}
}

// checkError requires an error to be a *bus.Error with the given Status and Executed, and returns its RetryAfter.
func checkError(t *testing.T, err error, status int, executed bus.Executed) (retryAfter time.Duration) {
	t.Helper()
	failed, ok := errors.AsType[*bus.Error](err)
	require.True(t, ok, err)
	assert.Equal(t, status, failed.Status, err)
	assert.Equal(t, executed, failed.Executed, err)
	return failed.RetryAfter
}
