package wire_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

func TestParseRequest_Accepts(t *testing.T) {
	t.Parallel()
	header := func(fields ...string) func(*wire.Request) {
		return func(req *wire.Request) {
			req.Header = nil
			for i := 0; i < len(fields); i += 2 {
				req.Header.Add(fields[i], fields[i+1])
			}
		}
	}
	const content = "Content-Type: application/json"
	tests := map[string]struct {
		old, replacement string
		change           func(*wire.Request)
	}{
		"names in any case":     {"Bus-Msg-Id: ", "bUS-mSG-iD:\t ", func(*wire.Request) {}},
		"blanks around a value": {"web.example", "\t  web.example \t", func(req *wire.Request) {}},
		"no budget": {"Bus-Time-Budget: 20000\n", "",
			func(req *wire.Request) { req.TimeBudget = wire.DefaultTimeBudget }},
		"short budget": {": 20000", ": 1", func(req *wire.Request) { req.TimeBudget = time.Millisecond }},
		"long budget": {": 20000", ": 999999999",
			func(req *wire.Request) { req.TimeBudget = wire.MaxTimeBudget }},
		"no time left":          {": 20000", ": 0", func(req *wire.Request) { req.TimeBudget = 0 }},
		"negative budget":       {": 20000", ": -5", func(req *wire.Request) { req.TimeBudget = -5 * time.Millisecond }},
		"no depth":              {"Bus-Call-Depth: 1\n", "", func(req *wire.Request) { req.CallDepth = 1 }},
		"great depth":           {"Depth: 1", "Depth: 999999999", func(req *wire.Request) { req.CallDepth = 999999999 }},
		"zeros before a number": {"Length: 13", "Length: 0013", func(*wire.Request) {}},
		"host with port": {"Host: calculator.example", "Host: calculator.example:443",
			func(req *wire.Request) { req.Host += ":443" }},
		"absolute-form": {"/add", "https://calculator.example/add?x=1",
			func(req *wire.Request) { req.Target = "/add?x=1" }},
		"absolute-form, other case": {"/add", "HTTP://Calculator.Example/add",
			func(req *wire.Request) { req.Host = "Calculator.Example" }},
		"absolute-form with a port": {"/add", "https://calculator.example:443/add",
			func(req *wire.Request) { req.Host += ":443" }},
		"absolute-form, no path": {"/add", "https://calculator.example", func(req *wire.Request) { req.Target = "/" }},
		"absolute-form, query only": {"/add", "https://calculator.example?x=/",
			func(req *wire.Request) { req.Target = "/?x=/" }},
		"two slashes":            {"/add", "//evil/add", func(req *wire.Request) { req.Target = "//evil/add" }},
		"escapes":                {"/add", "/a%2Fb%00?%zz", func(req *wire.Request) { req.Target = "/a%2Fb%00?%zz" }},
		"message ID of one byte": {"OZ2vT7hJ0kq5b-1w_Xc4Ng", "_", func(req *wire.Request) { req.MsgID = "_" }},
		"unchecked sender":       {"web.example", "a b.> *", func(req *wire.Request) { req.FromHost = "a b.> *" }},
		"other bus fields":       {content, "Bus-Else: x\r\nbus-else: y\r\nBus-: z", header()},
		"an actor": {content, "bus-actor: a.b.c",
			func(req *wire.Request) { req.Actor, req.Header = "a.b.c", nil }},
		"a proof": {"Content-Type: application/json", "Bus-Caller-Proof: a.b.c",
			func(req *wire.Request) { req.CallerProof, req.Header = "a.b.c", nil }},
		"an empty proof": {"Content-Type: application/json", "Bus-Caller-Proof: ",
			func(req *wire.Request) { req.Header = nil }},
		"fields of the connection": {content,
			"Connection: close, x\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nProxy-Connection: x", header()},
		"a field twice":              {content, "X-A: 1\r\nX-B: 2\r\nx-a: 3", header("X-A", "1", "X-B", "2", "x-a", "3")},
		"an empty value":             {content, "X-A:\r\nX-B: \t", header("X-A", "", "X-B", "")},
		"a colon, a tab, high bytes": {content, "X-A: a:b\tc\xff\x80é", header("X-A", "a:b\tc\xff\x80é")},
		"a GET that means HEAD": {"POST /add HTTP/1.1", "GET /add HTTP/1.1\r\nbus-method:  HEAD",
			func(req *wire.Request) { req.Method, req.IsHead = "GET", true }},
		"an announced length": {content, "Bus-Content-Length: 123456789012345678",
			func(req *wire.Request) { req.Header, req.ContentLength = nil, 123456789012345678 }},
		"a window": {content, "bus-window: 524288",
			func(req *wire.Request) { req.Header, req.Window = nil, 524288 }},
		"queue on a request": {content, "Bus-Queue: q", header()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := usualRequest()
			test.change(want)
			req := wire.Request{Body: []byte("old"), Header: wire.Header{{Name: "X-Old"}}}
			require.NoError(t, wire.ParseRequest(edited(t, goldenRequest, test.old, test.replacement), &req))
			if len(req.Header) == 0 {
				req.Header = nil
			}
			if !reflect.DeepEqual(&req, want) {
				t.Errorf("parsed\n%+v, want\n%+v", req, *want)
			}
		})
	}
}

func TestParseRequest_Refuses(t *testing.T) {
	t.Parallel()
	const content = "Content-Type: application/json"
	const badID = ` is not 1 to 64 of A-Z, a-z, 0-9, "-" and "_"`
	long := strings.Repeat("x", wire.MaxHeadBytes)
	tests := map[string]struct{ old, replacement, detail string }{
		"HTTP/1.0": {"HTTP/1.1", "HTTP/1.0", `request line "POST /add HTTP/1.0": does not end in HTTP/1.1`},
		"HTTP/1.0, and a query": {"/add HTTP/1.1", "/add?pin=1 HTTP/1.0",
			`request line "POST /add"…: does not end in HTTP/1.1`},
		"blank in query": {"/add", "/add?pin=1 2",
			`request target "/add"…: contains a space, or a percent sign without two hex digits`},
		"HTTP/2":   {"HTTP/1.1", "HTTP/2.0", `request line "POST /add HTTP/2.0": does not end in HTTP/1.1`},
		"HTTP/0.9": {" HTTP/1.1", "", `request line "POST /add": does not end in HTTP/1.1`},
		"a response": {"POST /add HTTP/1.1", "HTTP/1.1 200 OK",
			`request line "HTTP/1.1 200 OK": does not end in HTTP/1.1`},
		"no target":    {"/add ", "", `request line "POST HTTP/1.1": does not begin with a method and a space`},
		"empty target": {"/add", "", `request target "": neither /path nor https://host/path`},
		"no method":    {"POST", "", `request line " /add HTTP/1.1": does not begin with a method and a space`},
		"method no token": {"POST", "P(ST",
			`request line "P(ST /add HTTP/1.1": does not begin with a method and a space`},
		"blank line first": {"POST", "\r\nPOST", `head: begins with a blank line`},
		"blank in target": {"/add", "/a dd",
			`request target "/a dd": contains a space, or a percent sign without two hex digits`},
		"two blanks": {"/add", " /add", `request target " /add": neither /path nor https://host/path`},
		"tab in target": {"/add", "/a\tdd",
			`request target "/a\tdd": contains a space, or a percent sign without two hex digits`},
		"bad escape": {"/add", "/%zz",
			`request target "/%zz": contains a space, or a percent sign without two hex digits`},
		"cut escape": {"/add", "/%4",
			`request target "/%4": contains a space, or a percent sign without two hex digits`},
		"asterisk-form":  {"/add", "*", `request target "*": neither /path nor https://host/path`},
		"authority-form": {"/add", "h:443", `request target "h:443": neither /path nor https://host/path`},
		"CONNECT elsewhere": {"POST /add", "CONNECT https://calculator.example/",
			`request line "CONNECT https://calculator.example/ HTTP/1.1": the target of CONNECT has to be a path`},
		"other scheme": {"/add", "ftp://h/add", `request target "ftp://h/add": neither /path nor https://host/path`},
		"user": {"/add", "https://u@h/add",
			`request target "https://u@h/add": "u@h" is not host or host:port`},
		"no authority": {"/add", "https:///add", `request target "https:///add": "" is not host or host:port`},
		"bad port": {"/add", "https://h:x/add",
			`request target "https://h:x/add": "h:x" is not host or host:port`},
		"other host": {"/add", "https://evil:888/add",
			`header Host: "calculator.example" is not the host of the request target, "evil:888"`},
		"other port": {"/add HTTP/1.1\nHost: calculator.example",
			"https://calculator.example:888/add HTTP/1.1\r\nHost: calculator.example:443",
			`header Host: "calculator.example:443" is not the host of the request target, "calculator.example:888"`},
		"no host":    {"Host: calculator.example\n", "", `header Host: absent or empty`},
		"empty host": {"Host: calculator.example", "Host: ", `header Host: absent or empty`},
		"two hosts":  {content, "Host: calculator.example", `header Host: given twice`},
		"space before colon": {"Bus-Op-Code:", "Bus-Op-Code :",
			`header "Bus-Op-Code ": not a field name; folded lines and spaces before the colon are not allowed`},
		"folded line": {content, content + "\r\n more: x",
			`header " more": not a field name; folded lines and spaces before the colon are not allowed`},
		"folded line, no colon": {content, content + "\r\n\tmore", `head: line 11 has no colon`},
		"no colon":              {content, "Content-Type", `head: line 10 has no colon`},
		"no name": {content, ": x",
			`header "": not a field name; folded lines and spaces before the colon are not allowed`},
		"name no token": {content, "X(Y): x",
			`header "X(Y)": not a field name; folded lines and spaces before the colon are not allowed`},
		"bus name no token": {content, "Bus-É: x",
			`header "Bus-É": not a field name; folded lines and spaces before the colon are not allowed`},
		"bare LF":            {"/add HTTP/1.1\n", "/add HTTP/1.1\n", `head: line 1 ends in LF without CR`},
		"bare LF in a field": {content + "\n", content + "\n", `head: line 10 ends in LF without CR`},
		"bare CR":            {content, "X-A: a\rb", `head: control byte 0x0d in line 10`},
		"CR before CRLF":     {content, "X-A: a\r", `head: control byte 0x0d in line 10`},
		"NUL":                {content, "X-A: a\x00b", `head: control byte 0x00 in line 10`},
		"DEL":                {content, "X-A: aaaaaaaaaaaaaaaaaaaaaaaaa\x7fb", `head: control byte 0x7f in line 10`},
		"NUL in the method":  {"POST", "\x00", `head: control byte 0x00 in line 1`},
		"Transfer-Encoding":  {content, "transfer-encoding: chunked", `header transfer-encoding: not used on the bus`},
		"Trailer":            {content, "Trailer: X-A", `header Trailer: not used on the bus`},
		"length twice":       {content, "Content-Length: 13", `header Content-Length: given twice`},
		"length negative":    {"Length: 13", "Length: -1", `header Content-Length: "-1" is not 1 to 9 digits`},
		"length with sign":   {"Length: 13", "Length: +13", `header Content-Length: "+13" is not 1 to 9 digits`},
		"length as list":     {"Length: 13", "Length: 13, 13", `header Content-Length: "13, 13" is not 1 to 9 digits`},
		"length empty":       {"Length: 13", "Length:", `header Content-Length: "" is not 1 to 9 digits`},
		"length of 21 digits": {"Length: 13", "Length: 100000000000000000000",
			`header Content-Length: "100000000000000000000" is not 1 to 9 digits`},
		"body too short":        {"Length: 13", "Length: 14", `body: 13 bytes, but Content-Length is 14`},
		"body too long":         {"Length: 13", "Length: 12", `body: 1 trailing bytes after Content-Length 12`},
		"body without length":   {"Content-Length: 13\n", "", `body: 13 trailing bytes without Content-Length`},
		"no sender's host":      {"Bus-From-Host: web.example\n", "", `header Bus-From-Host: absent or empty`},
		"no sender's ID":        {"Bus-From-Id: k3xq27abcd", "Bus-From-Id: ", `header Bus-From-Id: absent or empty`},
		"sender's ID twice":     {content, "bus-from-id: k3xq27abcd", `header Bus-From-Id: given twice`},
		"no message ID":         {"Bus-Msg-Id", "Bus-Msg", `header Bus-Msg-Id: absent or empty`},
		"message ID twice":      {content, "Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng", `header Bus-Msg-Id: given twice`},
		"message ID with dot":   {"OZ2vT7hJ0kq5b-1w_Xc4Ng", "a.b", `header Bus-Msg-Id: "a.b"` + badID},
		"message ID too long":   {"OZ2vT7hJ0kq5b-1w_Xc4Ng", long[:65], `header Bus-Msg-Id: "` + long[:64] + `"…` + badID},
		"no op code":            {"Bus-Op-Code: Req\n", "", `header Bus-Op-Code: absent or empty`},
		"op code in lower case": {": Req", ": req", `header Bus-Op-Code: "req" is not allowed on a request`},
		"an ack":                {": Req", ": Ack", `header Bus-Op-Code: "Ack" is not allowed on a request`},
		"budget no number": {": 20000", ": abc",
			`header Bus-Time-Budget: "abc" is not a number of milliseconds of 1 to 9 digits`},
		"budget empty": {": 20000", ":",
			`header Bus-Time-Budget: "" is not a number of milliseconds of 1 to 9 digits`},
		"budget fraction": {": 20000", ": 1.5",
			`header Bus-Time-Budget: "1.5" is not a number of milliseconds of 1 to 9 digits`},
		"budget exponent": {": 20000", ": 1e3",
			`header Bus-Time-Budget: "1e3" is not a number of milliseconds of 1 to 9 digits`},
		"budget hexadecimal": {": 20000", ": 0x10",
			`header Bus-Time-Budget: "0x10" is not a number of milliseconds of 1 to 9 digits`},
		"budget of minus": {": 20000", ": -",
			`header Bus-Time-Budget: "-" is not a number of milliseconds of 1 to 9 digits`},
		"budget of 19 digits": {": 20000", ": 9223372036854775807",
			`header Bus-Time-Budget: "9223372036854775807" is not a number of milliseconds of 1 to 9 digits`},
		"depth zero": {"Depth: 1", "Depth: 0",
			`header Bus-Call-Depth: "0" is not a number above 0 of at most 9 digits`},
		"depth negative": {"Depth: 1", "Depth: -1",
			`header Bus-Call-Depth: "-1" is not a number above 0 of at most 9 digits`},
		"depth no number": {"Depth: 1", "Depth: one",
			`header Bus-Call-Depth: "one" is not a number above 0 of at most 9 digits`},
		"depth of 10 digits": {"Depth: 1", "Depth: 1000000000",
			`header Bus-Call-Depth: "1000000000" is not a number above 0 of at most 9 digits`},
		"HEAD on POST": {content, "Bus-Method: HEAD",
			`header Bus-Method: "HEAD" is not allowed on POST; only HEAD is, on GET`},
		"HEAD on HEAD": {"POST /add HTTP/1.1", "HEAD /add HTTP/1.1\r\nBus-Method: HEAD",
			`header Bus-Method: "HEAD" is not allowed on HEAD; only HEAD is, on GET`},
		"another method": {"POST /add HTTP/1.1", "GET /add HTTP/1.1\r\nBus-Method: DELETE",
			`header Bus-Method: "DELETE" is not allowed on GET; only HEAD is, on GET`},
		"method in lower case": {"POST /add HTTP/1.1", "GET /add HTTP/1.1\r\nBus-Method: head",
			`header Bus-Method: "head" is not allowed on GET; only HEAD is, on GET`},
		"method empty": {"POST /add HTTP/1.1", "GET /add HTTP/1.1\r\nBus-Method:",
			`header Bus-Method: "" is not allowed on GET; only HEAD is, on GET`},
		"method twice": {"POST /add HTTP/1.1", "GET /add HTTP/1.1\r\nBus-Method: HEAD\r\nBus-Method: HEAD",
			`header Bus-Method: given twice`},
		"too many fields": {content, strings.Repeat("a:\r\n", 248) + "a:", `head: more than 256 fields`},
		"too long a head": {content, "a: " + long, `head: longer than 81920 bytes`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := wire.Request{Method: "OLD", Host: "old", CallDepth: 7, TimeBudget: 7, Body: []byte("old")}
			err := wire.ParseRequest(edited(t, goldenRequest, test.old, test.replacement), &req)
			wantError(t, err, test.detail)
			req.FromHost, req.FromID, req.MsgID, req.Target = "", "", "", ""
			if !reflect.DeepEqual(req, wire.Request{}) {
				t.Errorf("%+v beside an error", req)
			}
		})
	}
}

func TestParseRequest_RefusesTruncated(t *testing.T) {
	t.Parallel()
	whole := crlf(goldenRequest)
	tests := map[string]struct{ payload, detail string }{
		"empty":          {"", `head: ends before the blank line`},
		"blank line":     {"\r\n", `head: begins with a blank line`},
		"random bytes":   {"\x16\x03\x01", `head: control byte 0x16 in line 1`},
		"half a head":    {string(whole[:100]), `head: ends before the blank line`},
		"half a CRLF":    {"GET / HTTP/1.1\r", `head: ends before the blank line`},
		"one line":       {"GET / HTTP/1.1\r\n", `head: ends before the blank line`},
		"endless letter": {strings.Repeat("A", 1<<20), `head: longer than 81920 bytes`},
		"two messages": {string(whole) + string(whole),
			fmt.Sprintf("body: %d trailing bytes after Content-Length 13", len(whole))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var req wire.Request
			wantError(t, wire.ParseRequest([]byte(test.payload), &req), test.detail)
		})
	}
}

// TestParseRequest_HeadLimits holds that a head may be exactly as large as the limits say.
func TestParseRequest_HeadLimits(t *testing.T) {
	t.Parallel()
	req := usualRequest()
	req.Body = nil
	head := len(wire.AppendRequest(nil, req))
	req.Header.Add("a", strings.Repeat("x", wire.MaxHeadBytes-head-len("a: \r\n")))
	payload := wire.AppendRequest(nil, req)
	err := wire.ParseRequest(payload, req)
	require.NoError(t, err, "a head of %d bytes", len(payload))
	assert.Len(t, payload, wire.MaxHeadBytes, "a head of %d bytes", len(payload))
	payload = bytes.Replace(payload, []byte("a: x"), []byte("a: xx"), 1)
	wantError(t, wire.ParseRequest(payload, req), "head: longer than 81920 bytes")

	req = usualRequest()
	for range wire.MaxFields - 9 {
		req.Header.Add("a", "x")
	}
	payload = wire.AppendRequest(nil, req)
	err = wire.ParseRequest(payload, req)
	require.NoError(t, err, "%d other fields", len(req.Header))
	assert.Len(t, req.Header, wire.MaxFields-8, "%d other fields", len(req.Header))
}

func TestAppendRequest_Clamps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		budget time.Duration
		depth  int
		want   []string
	}{
		"too little": {-time.Second, -1, []string{"Bus-Time-Budget: 0\r\n", "Bus-Call-Depth: 1\r\n"}},
		"too much": {time.Hour, math.MaxInt32,
			[]string{"Bus-Time-Budget: 600000\r\n", "Bus-Call-Depth: 999999999\r\n"}},
		"zero":            {0, 0, []string{"Bus-Time-Budget: 0\r\n", "Bus-Call-Depth: 1\r\n"}},
		"part of a tick":  {1999 * time.Microsecond, 64, []string{"Bus-Time-Budget: 1\r\n", "Bus-Call-Depth: 64\r\n"}},
		"the whole range": {wire.MaxTimeBudget, 2, []string{"Bus-Time-Budget: 600000\r\n", "Bus-Call-Depth: 2\r\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := usualRequest()
			req.TimeBudget, req.CallDepth = test.budget, test.depth
			payload := string(wire.AppendRequest(nil, req))
			for _, line := range test.want {
				if !strings.Contains(payload, line) {
					t.Errorf("no %q in %q", line, payload)
				}
			}
		})
	}
}

func TestParseRequest_BodyAliasesPayload(t *testing.T) {
	t.Parallel()
	payload := append(crlf(goldenRequest), "beyond"...)[:len(crlf(goldenRequest))]
	var req wire.Request
	require.NoError(t, wire.ParseRequest(payload, &req))
	if &req.Body[0] != &payload[len(payload)-len(req.Body)] {
		t.Error("the body is a copy")
	}
	if cap(req.Body) != len(req.Body) {
		t.Error("an append to the body would write behind the payload")
	}
	clear(payload)
	assert.Equal(t, "POST", req.Method)
	assert.Equal(t, usualRequest().MsgID, req.MsgID)
}
