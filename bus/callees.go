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
	latest atomic.Pointer[callee] // that is known: most calls go to the same one as the call before

	mu     sync.RWMutex // protects called
	called map[callee]*callee
}

// callee is a port of a host, or of all hosts below a domain.
type callee struct {
	host string // "products.example", "*.example", "*"
	port int
}

// maxCallees bounds what is remembered. Callers of more hosts, such as an ingress, name them.
const maxCallees = 4096

func newCallees() *callees { return &callees{called: make(map[callee]*callee)} }

// note remembers where a call went. Only the response, nil while there is none, shows whether the first label of the address
// is an instance.
func (l *callees) note(called subject.Address, response *wire.Response) {
	to := callee{called.Host, called.Port}
	if latest := l.latest.Load(); latest != nil && *latest == to {
		return
	}
	_, parent, _ := strings.Cut(called.Host, ".")
	isInstance := response != nil && joins(called.Host, response.FromID, response.FromHost)
	if isInstance {
		to.host = response.FromHost
	}
	l.mu.RLock()
	known := l.called[to]
	_, maybeInstance := l.called[callee{parent, called.Port}]
	full := len(l.called) >= maxCallees
	l.mu.RUnlock()
	if known != nil && response != nil && !isInstance { // there is nothing left to learn about that address
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

// sorted returns the callees so far and those that are named, each once.
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
	if err := subject.CheckPort(named.port); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w", text, err)
	}
	if host == "*" {
		return named, nil
	}
	if err := subject.CheckHost(strings.TrimPrefix(host, "*.")); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w; write a host, *.domain for all below it, or * for all", text, err)
	}
	return named, nil
}
