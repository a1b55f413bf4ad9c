package bus

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
)

// crashed is what became of a handler that panicked, or exited its goroutine by runtime.Goexit or a failing test.
type crashed struct {
	reason string // that of the panic
	exited bool   // there was none
	stack  []byte
}

func (c *crashed) Error() string {
	if c.exited {
		return "the handler exited its goroutine"
	}
	return "the handler panicked: " + c.reason
}

// errAborted is what became of a handler that panicked with [http.ErrAbortHandler], as httputil.ReverseProxy does when who it
// asks goes away: it means to give no answer, and net/http does not log it either.
var errAborted = fmt.Errorf("the handler gave no answer: %w", http.ErrAbortHandler)

// crash tells how a handler has ended that did not return. The reason is that of the panic, nil for none.
func crash(reason any) error {
	switch reason {
	case nil:
		return &crashed{exited: true, stack: debug.Stack()}
	case http.ErrAbortHandler:
		return errAborted
	default:
		return &crashed{reason: fmt.Sprint(reason), stack: debug.Stack()}
	}
}

// recovery makes an error of a panic. It is an [Interceptor]; those that stand around it see the error. When the goroutine
// exits nothing can be returned: they are told by the exchange, and the request is answered by who started the handler.
func (c *Conn) recovery(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) (err error) {
		returned := false
		defer func() {
			if returned {
				return
			}
			x.crashed = true
			if reason := recover(); reason != nil {
				err = executed(crash(reason))
			}
		}()
		err = next(ctx, x)
		returned, x.crashed = true, false // or one that stands inside has made something of it
		return err
	}
}
