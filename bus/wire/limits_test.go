package wire_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus/wire"
)

// TestParseRequest_EveryHeadLength moves the end of a field over all positions at which an offset might wrap around, up to
// the limit of a head.
func TestParseRequest_EveryHeadLength(t *testing.T) {
	t.Parallel()
	const start = "GET /x HTTP/1.1\r\nHost: a.example\r\nBus-From-Host: b.example\r\nBus-From-Id: b1\r\nBus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n"
	for _, size := range []int{1, 32_700, 65_300, 65_380, 65_400, 65_430, 65_536, 65_600, 81_700} {
		for length := size; length < size+8; length++ {
			value := strings.Repeat("v", length)
			var request wire.Request
			err := wire.ParseRequest([]byte(start+"X-Long: "+value+"\r\nX-Last: 1\r\n\r\n"), &request)
			if err != nil || request.Header.Get("X-Long") != value || request.Header.Get("X-Last") != "1" {
				t.Fatalf("a field of %d bytes: %v, %d fields", length, err, len(request.Header))
			}
		}
	}
}
