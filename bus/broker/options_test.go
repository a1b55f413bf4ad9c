package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
)

func TestStart_RejectsOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := []struct {
		name    string
		options []broker.Option
		want    string // what the message holds
	}{
		{
			"no option",
			[]broker.Option{broker.Listen("127.0.0.1:0"), nil},
			"broker: option 2 is nil: leave it out",
		},
		{
			"no port",
			[]broker.Option{broker.Listen("127.0.0.1")},
			`broker: Listen("127.0.0.1"): address 127.0.0.1: missing port in address; write host:port, such as 127.0.0.1:4222`,
		},
		{
			"port by name",
			[]broker.Option{broker.Listen("127.0.0.1:nats")},
			`broker: Listen("127.0.0.1:nats"): port "nats" is not a number from 0 to 65535`,
		},
		{
			"port out of range",
			[]broker.Option{broker.Listen(":65536")},
			`broker: Listen(":65536"): port "65536" is not a number from 0 to 65535`,
		},
		{
			"address of another machine",
			[]broker.Option{broker.Listen("192.0.2.1:0")},
			"broker: listen tcp 192.0.2.1:0: bind: cannot assign requested address; give Listen another address",
		},
		{
			"no directory",
			[]broker.Option{broker.JetStream("")},
			"broker: JetStream: no directory; name one that this broker has for itself",
		},
		{
			"directory is a file",
			[]broker.Option{broker.JetStream(file)},
			`broker: JetStream in "` + file + `": `,
		},
		{
			"no period",
			[]broker.Option{broker.JetStream(file), broker.SyncInterval(0)},
			"broker: SyncInterval: 0s is no period: for none use SyncAlways",
		},
		{
			"no disk",
			[]broker.Option{broker.SyncAlways()},
			"broker: SyncAlways and SyncInterval are about a disk: add JetStream with a directory",
		},
		{
			"always, and from time to time",
			[]broker.Option{broker.JetStream(file), broker.SyncAlways(), broker.SyncInterval(time.Second)},
			"broker: SyncAlways and SyncInterval are both given: choose one",
		},
		{
			"no payload",
			[]broker.Option{broker.MaxPayload(0)},
			"broker: MaxPayload: 0 bytes; choose 1 to 67108864",
		},
		{
			"payload too large",
			[]broker.Option{broker.MaxPayload(64<<20 + 1)},
			"broker: MaxPayload: 67108865 bytes; choose 1 to 67108864",
		},
		{
			"every error at once",
			[]broker.Option{broker.JetStream(""), broker.MaxPayload(-1)},
			"name one that this broker has for itself\nMaxPayload: -1 bytes",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			embedded, err := broker.Start(test.options...)
			if err == nil {
				embedded.Close()
				t.Fatalf("started, want an error with %q", test.want)
			}
			t.Log(err)
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error  %v\nwant … %s", err, test.want)
			}
		})
	}
}
