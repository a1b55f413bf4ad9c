package portal_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
)

// TestNoOption hands over options that are nil, as a function may return that has none to set, and a connection that
// is.
func TestNoOption(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("portal")
	for want, try := range map[string]func() error{
		"ingress: option 2 is nil: leave it out": func() error {
			_, err := ingress.New(conn, ingress.WithPorts(443), nil)
			return err
		},
		"portal: option 1 is nil: leave it out": func() error { return portal.Register(conn, nil) },
		"the ingress cannot call without a connection": func() error {
			_, err := ingress.New(nil)
			return err
		},
		"the portal cannot be served without a connection": func() error { return portal.Register(nil) },
		"listen: the handler is nil": func() error {
			_, err := ingress.Listen(nil, ingress.WithAddress("127.0.0.1:0"))
			return err
		},
		"listen: option 1 is nil: leave it out": func() error {
			_, err := ingress.Listen(http.NotFoundHandler(), nil)
			return err
		},
	} {
		err := try()
		assert.EqualError(t, err, want)
	}
}
