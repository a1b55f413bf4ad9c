package bus_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestEachReasonIsLoggedOnceAMinute takes as many reasons as the broker client tells.
func TestEachReasonIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var retries bus.Retries
		logged := 0
		try := func(reason string, times int) {
			for range times {
				if retries.IsNews(reason) {
					logged++
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		for _, step := range []struct {
			what string
			do   func()
			want int
		}{
			{"a minute", func() { try("refused", 600) }, 1},
			{"longer", func() { try("refused", 10) }, 2},
			{"another reason", func() { try("a certificate", 10) }, 3},
			{"the broker was back", func() { retries.Over(); try("a certificate", 10) }, 4},
		} {
			if step.do(); logged != step.want {
				t.Errorf("%s: %d lines, want %d", step.what, logged, step.want)
			}
		}
	})
}

// TestWhyTheBrokerStaysAway loses the broker. At one address nobody listens any more, at the other somebody with a certificate
// of another authority. The environment belongs to the process, so it does not run beside others.
func TestWhyTheBrokerStaysAway(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	t.Setenv("BUS_NATS_CA", authority.file)
	good, bad := tlsBroker(t, certify(t, authority, here)), tlsBroker(t, certify(t, certify(t, nil), here))
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(good.URL()+","+bad.URL()), bus.WithLogger(zerolog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(t, conn)
	good.Close()
	log.await(t, "certificate signed by unknown authority")
	log.await(t, "connection refused")
}
