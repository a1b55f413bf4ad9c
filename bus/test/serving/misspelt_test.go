package serving_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

type pages struct{}

func (pages) Page(limit int, sortBy string) (titles []string, total int) {
	return []string{sortBy}, limit
}

// misspelt are calls with arguments that the shelf does not have.
func misspelt() map[string]func(conn *bus.Conn, method string, result any) error {
	return map[string]func(conn *bus.Conn, method string, result any) error{
		"by name": func(conn *bus.Conn, method string, result any) error {
			return conn.Call(context.Background(), method+" https://shelf.example/page",
				bus.Args{"limt": 5, "other": true}, result)
		},
		"by struct": func(conn *bus.Conn, method string, result any) error {
			return conn.Call(context.Background(), method+" https://shelf.example/page", struct {
				Limit int  `json:"limt"`
				Other bool `json:"other"`
			}{5, true}, result)
		},
	}
}

// On a bus of bustest a misspelt argument is refused, whichever way it takes.
func TestMisspelt_InTests(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, bus.Serve(b.Connect("shelf.example"), pages{}))
	for way, call := range misspelt() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, transport := range [][]bus.ConnectOption{nil, {bus.WithoutShortCircuit()}} {
				err := call(b.Connect("caller.example", transport...), method, nil)
				require.ErrorContains(t, err, "limt", way, method)
				failed, _ := errors.AsType[*bus.Error](err)
				assert.Equal(t, http.StatusBadRequest, failed.Status, way, method)
			}
		}
	}
}

// Elsewhere it is ignored, and logged once if it resembles a known one.
func TestMisspelt_IsLoggedOnce(t *testing.T) {
	t.Parallel()
	for way, call := range misspelt() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, transport := range [][]bus.ConnectOption{nil, {bus.WithoutShortCircuit()}} {
				b := bustest.New(t)
				b.AllowUnknownFields()
				log := new(kit.Lines)
				conn := b.Connect("shelf.example", bus.WithLogger(zerolog.New(log)))
				require.NoError(t, bus.Serve(conn, pages{}))
				caller := b.Connect("caller.example", transport...)
				for range 3 {
					var out struct{ Total int }
					require.NoError(t, call(caller, method, &out), way, method)
				}
				kit.CloseConn(t, conn)
				assert.Equal(t, 1, log.Count("limt; did you mean limit?"), "%s %s: %s", way, method, log)
				assert.Zero(t, log.Count("other"), "%s %s: %s", way, method, log)
			}
		}
	}
}

// A struct for results that has none of them is an error, not a zero value.
func TestCall_NoneOfTheResults(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, bus.Serve(b.Connect("shelf.example"), pages{}))
	for _, transport := range [][]bus.ConnectOption{nil, {bus.WithoutShortCircuit()}} {
		caller := b.Connect("caller.example", transport...)
		var none struct{ Totals int }
		err := caller.Call(t.Context(), "https://shelf.example/page", bus.Args{"limit": 5}, &none)
		require.ErrorContains(t, err, "it has titles, total, and no Totals; did you mean total?")
		failed, _ := errors.AsType[*bus.Error](err)
		assert.Equal(t, bus.ExecutedYes, failed.Executed)

		_, err = bus.NewOperation[struct{}, struct {
			Sum int `json:"sum"`
		}](caller, "https://shelf.example/page").Call(t.Context(), struct{}{})
		require.ErrorContains(t, err, "it has titles, total, and no sum")

		var some struct{ Total, More int }
		require.NoError(t, caller.Call(t.Context(), "https://shelf.example/page", nil, &some))
	}
}

// A path without an endpoint is answered with the one that is probably meant, unless that needs a token or is hidden.
func TestMisspelt_Path(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("pages.example")
	require.NoError(t, bus.Serve(conn, pages{}))
	for _, path := range []string{"/secret", "/hidden", "/books/{id}"} {
		options := map[string][]bus.HandleOption{"/secret": {bus.RequireClaims("true")},
			"/hidden": {bus.Undocumented()}}[path]
		require.NoError(t, conn.Handle(http.MethodGet, path, http.NotFoundHandler(), options...))
	}
	for _, transport := range [][]bus.ConnectOption{nil, {bus.WithoutShortCircuit()}} {
		caller := b.Connect("caller.example", transport...)
		for path, want := range map[string]string{
			"/pgae": "; did you mean /page?", "/book/7": "; did you mean /books/{id}?",
			"/secrets": "", "/hiden": "", "/nothing/like/it": "", "/Page": "; did you mean /page?",
		} {
			err := caller.Call(t.Context(), "GET https://pages.example"+path, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			require.NotNil(t, failed, path)
			assert.Equal(t, http.StatusNotFound, failed.Status, path)
			assert.Equal(t, "pages.example serves nothing at "+path+" on port 443"+want, failed.Detail)
		}
	}
}

// A variable that is none, and resembles one, is told once for each process.
func TestMisspelt_Variable(t *testing.T) {
	t.Setenv("BUS_NATS_ULR", "nats://nowhere.example")
	t.Setenv("BUS_OF_ANOTHER_PROGRAM", "1")
	t.Setenv("BUS_NATS_PORT", "tcp://10.0.0.1:4222") // as Kubernetes tells of a Service bus-nats
	b, log := bustest.New(t), new(kit.Lines)
	b.Connect("silent.example", bus.WithLogger(zerolog.Nop()))
	b.Connect("failing.example", bus.WithLogger(zerolog.New(io.Discard).Level(zerolog.ErrorLevel)))
	for range 2 {
		kit.CloseConn(t, b.Connect("caller.example", bus.WithLogger(zerolog.New(log))))
	}
	assert.Equal(t, 1,
		log.Count("the environment variable BUS_NATS_ULR is unknown, and ignored; did you mean BUS_NATS_URL?"), log)
	assert.Zero(t, log.Count("ANOTHER"), log)
	assert.Zero(t, log.Count("BUS_NATS_PORT"), log)
}
