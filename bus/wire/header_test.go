package wire_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	var header wire.Header
	header.Add("x-one", "1")
	header.Add("X-Two", "2")
	header.Add("X-ONE", "3")
	for name, want := range map[string]string{"X-One": "1", "x-TWO": "2", "X-Three": "", "": "", "\u212a": ""} {
		t.Run(name, func(t *testing.T) {
			if got := header.Get(name); got != want {
				t.Errorf("%q is %q, want %q", name, got, want)
			}
		})
	}
	got := header.HTTP()
	want := http.Header{"X-One": {"1", "3"}, "X-Two": {"2"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("as a map %v, want %v", got, want)
	}
	got["X-Two"] = append(got["X-Two"], "4")
	if !reflect.DeepEqual(got["X-One"], want["X-One"]) {
		t.Errorf("an append to one field changes another: %v", got)
	}
	empty := wire.Header(nil).HTTP()
	require.NotNil(t, empty)
	assert.LessOrEqual(t, len(empty), 0)
}

func TestFromHTTP(t *testing.T) {
	t.Parallel()
	got := wire.FromHTTP(http.Header{
		"X-B":            {"2", "1"},
		"X-A":            {"3"},
		"X-None":         {},
		"Host":           {"evil"},
		"Content-Length": {"7"},
		"Bus-Msg-Id":     {"evil"},
		"bus-actor":      {"evil"},
	})
	want := wire.Header{{Name: "X-A", Value: "3"}, {Name: "X-B", Value: "2"}, {Name: "X-B", Value: "1"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if none := wire.FromHTTP(nil); len(none) > 0 {
		t.Errorf("no map as fields %v", none)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	reserved := []string{
		"Host", "Content-Length", "Connection", "Transfer-Encoding", "Trailer", "Upgrade", "Keep-Alive", "TE",
		"Proxy-Connection", "Bus-From-Host", "Bus-From-Id", "Bus-Msg-Id", "Bus-Op-Code", "Bus-Time-Budget",
		"Bus-Call-Depth", "Bus-Queue", "Bus-Actor", "bus-Caller-Proof", "Bus-", "hOST", "te", "bUS-aNYTHING", "BUS-QUEUE",
	}
	for _, name := range reserved {
		if !wire.Reserved(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	others := []string{
		"", "Bus", "Bus_Msg_Id", "X-Bus-Msg-Id", "Content-Type", "TER", "Hosts", "Authorization", "Set-Cookie",
		"traceparent", "Accept-Language", "Proxy-Authorization", "Transfer-Encodinh", "\u212aeep-Alive", "Hoſt",
	}
	for _, name := range others {
		if wire.Reserved(name) {
			t.Errorf("%s is reserved", name)
		}
	}
}

// TestHeader_EveryByteInValue holds, for every byte at every position, that parsing accepts only allowed bytes and that
// writing replaces the others by blanks.
func TestHeader_EveryByteInValue(t *testing.T) {
	t.Parallel()
	for place := range 20 {
		for c := range 256 {
			value := []byte("\tabcdefghijk\xe9lmnopqr")
			value[place] = byte(c)
			checkByteInValue(t, place, byte(c), "x"+string(value)+"x")
		}
	}
}

func checkByteInValue(t *testing.T, place int, c byte, value string) {
	t.Helper()
	allowed := c >= ' ' && c != 0x7f || c == '\t'
	payload := edited(t, goldenRequest, "Content-Type: application/json", "X-A: "+value)
	var req wire.Request
	if err := wire.ParseRequest(payload, &req); (err == nil) != allowed {
		t.Errorf("byte %#x at %d: %v", c, place, err)
	}
	req = *usualRequest()
	req.Header = wire.Header{{Name: "X-A", Value: value}}
	if !allowed {
		value = value[:1+place] + " " + value[2+place:]
	}
	require.NoError(t, wire.ParseRequest(wire.AppendRequest(nil, &req), &req))
	got := req.Header.Get("X-A")
	assert.Equal(t, value, got, "%#x, %d", c, place)
	assert.Len(t, req.Header, 1, "%#x, %d", c, place)
}
