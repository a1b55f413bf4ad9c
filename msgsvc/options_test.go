package msgsvc_test

import (
	"fmt"
	"testing"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(host)
	_, err := msgsvc.New(t.Context(), conn, msgsvc.WithCacheSize(msgsvc.EntryOverhead), msgsvc.WithCacheAge(-1), nil)
	want := `messaging on messaging.example: option 3 is nil: leave it out
WithCacheSize: 256 bytes hold nothing; leave it out for 33554432
WithCacheAge: nothing is found within -1ns; leave it out for 1h0m0s`
	if fmt.Sprint(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	if _, err := msgsvc.New(t.Context(), nil); fmt.Sprint(err) != "messaging cannot be served without a connection" {
		t.Errorf("got %v", err)
	}
}
