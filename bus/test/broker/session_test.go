package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
)

// TestSession_CallersAreReminded has calls take longer than callers wait without a timer, and less, and be left at any
// time.
func TestSession_CallersAreReminded(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		k, caller := kit.NewKeeping(t, b.World)
		slowly := bus.NewOperation[kit.Single, kit.Doubled](caller, kit.KeeperURL+"/double-slowly")
		for wait := time.Millisecond; wait < time.Minute/4; wait *= 3 {
			var calling sync.WaitGroup
			calling.Go(func() {
				response, err := slowly.Call(t.Context(), kit.Single{N: 21})
				assert.NoError(t, err, "after %s", wait)
				assert.Equal(t, 42, response.Results.Doubled, "after %s", wait)
			})
			<-k.Entered
			time.Sleep(wait)
			k.Release <- struct{}{}
			calling.Wait()

			ctx, leave := context.WithTimeout(t.Context(), wait)
			calling.Go(func() {
				if _, err := slowly.Call(ctx, kit.Single{N: 21}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("left after %s: %v", wait, err)
				}
			})
			<-k.Entered
			began := time.Now()
			calling.Wait()
			leave()
			if waited := time.Since(began); waited > wait {
				t.Errorf("a caller with %s has waited for %s", wait, waited)
			}
			k.Release <- struct{}{}
		}
	})
}

// TestSession_RenewedClientCertificate has the broker come back when the certificate of the service is no longer taken,
// and then renews it in place. The environment belongs to the process, so it does not run beside others.
func TestSession_RenewedClientCertificate(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	server, client := certify(t, authority, here), certify(t, authority)
	t.Setenv("BUS_NATS_CA", authority.file)
	t.Setenv("BUS_NATS_CERT", client.file)
	t.Setenv("BUS_NATS_KEY", client.keyIn)
	start := func(address string) *broker.Broker {
		started, err := broker.Start(broker.Listen(address), broker.Config(fmt.Sprintf(
			"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", server.file, server.keyIn, authority.file)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(started.Close)
		return started
	}
	before := start("127.0.0.1:0")
	log := new(kit.Lines)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(before.URL()), bus.WithLogger(zerolog.New(log)))
	require.NoError(t, err)
	defer kit.CloseConn(t, conn)
	_, address, _ := strings.Cut(before.URL(), "://")
	before.Close()
	renew(t, client, certify(t, certify(t, nil)))
	start(address)
	log.Await(t, "remote error: tls")
	renew(t, client, certify(t, authority))
	log.Await(t, "broker is back")
}

// renew puts another certificate, and its key, where there was one.
func renew(t *testing.T, old, renewed *certified) {
	t.Helper()
	for from, to := range map[string]string{renewed.file: old.file, renewed.keyIn: old.keyIn} {
		require.NoError(t, os.Rename(from, to))
	}
}
