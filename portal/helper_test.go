package portal_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// testIngress is an ingress on a bus of its own, with what these tests ask of the page.
type testIngress struct{ *portaltest.Ingress }

func open(t *testing.T, options ...ingress.Option) *testIngress {
	t.Helper()
	return &testIngress{portaltest.Open(t, options...)}
}

func openOn(t *testing.T, b *bustest.Bus, connect []bus.ConnectOption, options ...ingress.Option) *testIngress {
	t.Helper()
	return &testIngress{portaltest.OpenOn(t, b, connect, options...)}
}

func openFor(t *testing.T, i *portaltest.Issuer, options ...ingress.Option) *testIngress {
	t.Helper()
	return &testIngress{portaltest.OpenFor(t, i, options...)}
}
