package bus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// callees are what a connection has called, for [Conn.Permissions].
type callees struct {
	latest atomic.Pointer[callee] // that is known, as most calls go where the one before went

	mu     sync.RWMutex // protects called
	called map[callee]*callee
}

// callee is a port of a host, or of all hosts below a domain.
type callee struct {
	host string // "products.example", "*.example", "*"
	port int
}

// maxCallees bounds what is remembered. Who calls more of them, as an ingress does, names them.
const maxCallees = 4096

func newCallees() *callees { return &callees{called: make(map[callee]*callee)} }

// note remembers where a call went. Only its response, nil while there is none, tells whether the first label of the
// address is an instance's.
func (l *callees) note(called subject.Address, response *wire.Response) {
	to := callee{called.Host, called.Port}
	if latest := l.latest.Load(); latest != nil && *latest == to {
		return
	}
	_, parent, _ := strings.Cut(called.Host, ".")
	isInstance := response != nil && response.FromID+"."+response.FromHost == called.Host
	if isInstance {
		to.host = response.FromHost
	}
	l.mu.RLock()
	known := l.called[to]
	_, maybeInstance := l.called[callee{parent, called.Port}]
	full := len(l.called) >= maxCallees
	l.mu.RUnlock()
	if known != nil && response != nil && !isInstance { // so that nothing can be learnt of that address any more
		l.latest.Store(known)
	}
	if known != nil || full || response == nil && maybeInstance {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	added := to
	l.called[added] = &added
	if isInstance { // which did not answer before
		delete(l.called, callee{called.Host, called.Port})
	}
}

// sorted returns what was called and what is named besides, each once.
func (l *callees) sorted(named []callee) []callee {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for each := range l.called {
		named = append(named, each)
	}
	slices.SortFunc(named, func(a, b callee) int {
		return cmp.Or(strings.Compare(a.host, b.host), cmp.Compare(a.port, b.port))
	})
	return slices.Compact(named)
}

// parseCallee reads "products.example", "products.example:444", "*.example" or "*".
func parseCallee(text string) (callee, error) {
	host, digits, hasPort := strings.Cut(text, ":")
	named := callee{host, publicPort}
	if hasPort {
		port, err := strconv.Atoi(digits)
		if err != nil {
			return callee{}, fmt.Errorf("callee %q: the port is not a number; write host or host:port", text)
		}
		named.port = port
	}
	if err := subject.ValidPort(named.port); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w", text, err)
	}
	if host == "*" {
		return named, nil
	}
	if err := subject.ValidHost(strings.TrimPrefix(host, "*.")); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w; write a host, *.domain for all below it, or * for all", text, err)
	}
	return named, nil
}
