package msgsvc_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

const host = "messaging.example"

// instance is one instance of the service, with its part of the cache and its connection.
type instance struct {
	msgsvc.Cache
	service *msgsvc.Service
	conn    *bus.Conn
}

// close leaves the bus as a program does.
func (i instance) close(t *testing.T) {
	t.Helper()
	if err := i.service.Close(t.Context()); err != nil {
		t.Errorf("close the service: %v", err)
	}
	if err := i.conn.Close(t.Context()); err != nil {
		t.Errorf("close the connection: %v", err)
	}
}

// newInstance adds an instance to a bus.
func newInstance(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) instance {
	t.Helper()
	return serve(t, b.Connect(host), options...)
}

func serve(t *testing.T, conn *bus.Conn, options ...msgsvc.Option) instance {
	t.Helper()
	service, err := msgsvc.New(t.Context(), conn, options...)
	require.NoError(t, err)
	return instance{msgsvc.CacheOf(service), service, conn}
}

// newInstances adds several.
func newInstances(t *testing.T, b *bustest.Bus, count int, options ...msgsvc.Option) []instance {
	t.Helper()
	instances := make([]instance, count)
	for i := range instances {
		instances[i] = newInstance(t, b, options...)
	}
	return instances
}

// get asks for a page and returns its status and text.
func get(t *testing.T, conn *bus.Conn, address string) (status int, text string) {
	t.Helper()
	return send(t, conn, http.MethodGet, address)
}

func send(t *testing.T, conn *bus.Conn, method, address string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	require.NoError(t, err)
	response, err := conn.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// page is the address of an endpoint with query arguments in pairs.
func page(endpoint string, arguments ...string) string {
	query := make(url.Values)
	for i := 0; i < len(arguments); i += 2 {
		query.Add(arguments[i], arguments[i+1])
	}
	return "https://" + host + "/" + endpoint + "?" + query.Encode()
}

func store(t *testing.T, through msgsvc.Cache, key, value string) {
	t.Helper()
	if err := through.Store(t.Context(), key, value); err != nil {
		t.Fatalf("store %.20q: %v", key, err)
	}
}

// expect loads a key and compares.
func expect(t *testing.T, through msgsvc.Cache, key, want string) {
	t.Helper()
	got, found := load(t, through, key)
	require.True(t, found, "load %.20q", key)
	assert.Equal(t, want, got, "load %.20q", key)
}

func expectNone(t *testing.T, through msgsvc.Cache, key string) {
	t.Helper()
	if got, found := load(t, through, key); found {
		t.Errorf("load %.20q: found %.20q, want none", key, got)
	}
}

func load(t *testing.T, through msgsvc.Cache, key string) (value string, found bool) {
	t.Helper()
	value, found, err := through.Load(t.Context(), key)
	if err != nil {
		t.Fatalf("load %.20q: %v", key, err)
	}
	return value, found
}
