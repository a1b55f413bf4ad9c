package greetersvc_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/template/greeter/greeterapi"
	"github.com/busline/busline/examples/template/greeter/greeterapi/greetermock"
	"github.com/busline/busline/examples/template/greeter/greetersvc"
)

// TestGreet calls the service over a bus of its own.
func TestGreet(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := greetersvc.Serve(b.Connect(greeterapi.Host)); err != nil {
		t.Fatal(err)
	}
	client := greeterapi.NewClient(b.Connect("caller.example"))
	greeting, err := client.Greet(t.Context(), "Ada")
	if err != nil || greeting != "Hello, Ada!" {
		t.Errorf("%q, %v", greeting, err)
	}
	if _, err := client.Greet(t.Context(), ""); bus.StatusOf(err) != http.StatusUnprocessableEntity {
		t.Errorf("an empty name: %v", err)
	}
}

// TestGreet_HTTP calls the service from outside, as a browser does.
func TestGreet_HTTP(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := greetersvc.Serve(b.Connect(greeterapi.Host)); err != nil {
		t.Fatal(err)
	}
	server := b.Ingress()
	response, err := server.Client().Get(server.URL + "/greeter.example/greet?name=Ada")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || string(body) != `{"greeting":"Hello, Ada!"}` {
		t.Errorf("%d %s, %v", response.StatusCode, body, err)
	}
}

// TestRemind waits for ten seconds in virtual time, which takes none.
func TestRemind(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		if err := greetersvc.Serve(b.Connect(greeterapi.Host)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		reminder, err := greeterapi.NewClient(b.Connect("caller.example")).Remind(t.Context(), "tea", 10)
		if took := time.Since(began); err != nil || reminder != "tea" || took != 10*time.Second {
			t.Errorf("%q, %v, after %s", reminder, err, took)
		}
	})
}

// TestMock calls a mock in place of the service, as tests of callers do.
func TestMock(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mock := greetermock.NewMockGreeter(gomock.NewController(bustest.Reporter(t)))
	mock.EXPECT().Greet(gomock.Any(), "Ada").Return("Good evening", nil)
	if err := bus.Serve[greeterapi.Greeter](b.Connect(greeterapi.Host), mock); err != nil {
		t.Fatal(err)
	}
	greeting, err := greeterapi.NewClient(b.Connect("caller.example")).Greet(t.Context(), "Ada")
	if err != nil || greeting != "Good evening" {
		t.Errorf("%q, %v", greeting, err)
	}
}

// TestAPI fails when a change would break callers. BUSLINE_UPDATE=1 go test ./... writes the lock anew.
func TestAPI(t *testing.T) {
	t.Parallel()
	bustest.LockAPI[greeterapi.Greeter](t, "testdata/greeter.api.json", greetersvc.Greeter{})
}
