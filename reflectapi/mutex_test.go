package reflectapi_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/busline/busline/reflectapi"
)

// counter embeds what it should keep to itself.
type counter struct {
	sync.Mutex

	n int
}

// Next counts.
func (c *counter) Next() (n int) {
	c.Lock()
	defer c.Unlock()
	c.n++
	return c.n
}

func TestAnEmbeddedMutexIsNotServed(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(&counter{})
	for _, told := range []string{"method Lock: it is promoted from the embedded sync.Mutex", "method TryLock", "method Unlock", `bus.ExcludeMethods("Lock")`} {
		if err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("%v does not tell %q", err, told)
		}
	}
	service, err := reflectapi.Describe(&counter{}, reflectapi.ExcludeMethods("Lock", "TryLock", "Unlock"))
	if err != nil || len(service.Methods) != 1 {
		t.Errorf("without them: %v, %v", service, err)
	}
}
