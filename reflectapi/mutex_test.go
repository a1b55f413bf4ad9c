package reflectapi_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestDescribe_EmbeddedMutexIsNotServed(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(&counter{})
	for _, text := range []string{"method Lock: it is promoted from the embedded sync.Mutex", "method TryLock",
		"method Unlock", `bus.ExcludeMethods("Lock")`} {
		assert.ErrorContains(t, err, text)
	}
	service, err := reflectapi.Describe(&counter{}, reflectapi.ExcludeMethods("Lock", "TryLock", "Unlock"))
	require.NoError(t, err, "without them")
	assert.Len(t, service.Methods, 1, "without them")
}
