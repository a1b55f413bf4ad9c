package bus_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// TestConnectionNames has the broker tell the names of its connections, as "nats server report connections" shows them.
func TestConnectionNames(t *testing.T) {
	t.Parallel()
	e := startEnforcing(t, broker.Listen("127.0.0.1:0"), broker.Config(`
		accounts {
			APP: { users: [ { user: app, password: secret } ] }
			SYS: { users: [ { user: sys, password: secret } ] }
		}
		system_account: SYS`))
	asApp := bus.WithURL(e.as("app"))
	first, second := e.connect("first.example", asApp), e.connect("second.example", asApp)
	alone := e.connect("alone.example", asApp, bus.WithoutSharing())
	want := []string{first.ID() + ".first.example", alone.ID() + ".alone.example"}
	slices.Sort(want)
	if got := connectionNames(t, e.as("sys")); !slices.Equal(got, want) {
		t.Errorf("connections %q, want %q, the first one of those that share", got, want)
	}
	closeConn(t, first)
	if got := connectionNames(t, e.as("sys")); !slices.Equal(got, want) || !second.Connected() {
		t.Errorf("connections %q once the first one has left, want %q", got, want)
	}
}

// connectionNames asks the broker for the connections of the account APP.
func connectionNames(t *testing.T, url string) (names []string) {
	t.Helper()
	system, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	answer, err := system.Request("$SYS.REQ.SERVER.PING.CONNZ", []byte(`{"auth":true,"acc":"APP"}`), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Data struct {
			Connections []struct{ Name string }
		}
	}
	if err := json.Unmarshal(answer.Data, &told); err != nil {
		t.Fatal(err)
	}
	for _, connection := range told.Data.Connections {
		names = append(names, connection.Name)
	}
	slices.Sort(names)
	return names
}
