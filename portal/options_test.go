package portal_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// TestNoOption hands over options that are nil, as a function may return that has none to set, and a connection that is.
func TestNoOption(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("portal")
	for want, try := range map[string]func() error{
		"ingress: option 2 is nil: leave it out": func() error {
			_, err := portal.NewIngress(conn, portal.WithPorts(443), nil)
			return err
		},
		"portal: option 1 is nil: leave it out": func() error { return portal.Register(conn, nil) },
		"the ingress cannot call without a connection": func() error {
			_, err := portal.NewIngress(nil)
			return err
		},
		"the portal cannot be served without a connection": func() error { return portal.Register(nil) },
		"listen: the handler is nil": func() error {
			_, err := portal.Listen(nil, portal.WithAddress("127.0.0.1:0"))
			return err
		},
		"listen: option 1 is nil: leave it out": func() error {
			_, err := portal.Listen(http.NotFoundHandler(), nil)
			return err
		},
	} {
		err := try()
		assert.EqualError(t, err, want)
	}
}
