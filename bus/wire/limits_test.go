package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

// TestParseRequest_EveryHeadLength moves the end of a field over all positions at which an offset might wrap around, up
// to the limit of a head.
func TestParseRequest_EveryHeadLength(t *testing.T) {
	t.Parallel()
	const start = "GET /x HTTP/1.1\r\nHost: a.example\r\nBus-From-Host: b.example\r\nBus-From-Id: b1\r\nBus-Msg-Id: " +
		"m1\r\nBus-Op-Code: Req\r\n"
	for _, size := range []int{1, 32_700, 65_300, 65_380, 65_400, 65_430, 65_536, 65_600, 81_700} {
		for length := size; length < size+8; length++ {
			value := strings.Repeat("v", length)
			var request wire.Request
			err := wire.ParseRequest([]byte(start+"X-Long: "+value+"\r\nX-Last: 1\r\n\r\n"), &request)
			require.NoError(t, err, "a field of %d bytes", length)
			require.Equal(t, value, request.Header.Get("X-Long"), "a field of %d bytes", length)
			require.Equal(t, "1", request.Header.Get("X-Last"), "a field of %d bytes", length)
		}
	}
}
