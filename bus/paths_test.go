package bus_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPathsThatLookAlike calls what is close to the subject of another endpoint, or to what a broker understands as
// something else. Each call reaches one endpoint, which gets what was written.
func TestPathsThatLookAlike(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect("paths.example"), w.connect("caller.example")
		for _, path := range []string{"/a/b", "/a.b", "/{x}", "/{x}/c", "/{p+}"} {
			err := callee.Handle(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = fmt.Fprintf(w, "%s %s", path, r.PathValue("x")+r.PathValue("p"))
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		for path, want := range map[string]string{
			"/a/b":                "/a/b ",
			"/a.b":                "/a.b ",
			"/a%2eb":              "/a.b ",
			"/%61/b":              "/a/b ",
			"/a%2Fb":              "/{x} a/b",
			"/A/b":                "/{p+} A/b",
			"/a//b":               "/{p+} a//b",
			"/a/b/":               "/{p+} a/b/",
			"/a/./b":              "/{p+} a/./b",
			"/a/../a/b":           "/{p+} a/../a/b",
			"/%2e%2e/c":           "/{x}/c ..",
			"/a/":                 "/{p+} a/",
			"//":                  "/{p+} /",
			"/":                   "/{p+} ",
			"":                    "/{p+} ",
			"//c":                 "/{p+} /c", // an empty segment is no value of {x}
			"/.":                  "/{x} .",
			"/..":                 "/{x} ..",
			"/*":                  "/{x} *",
			"/**":                 "/{x} **",
			"/>":                  "/{x} >",
			"/|":                  "/{x} |",
			"/$SYS":               "/{x} $SYS",
			"/_INBOX/c":           "/{x}/c _INBOX",
			"/>/c":                "/{x}/c >",
			"/%7Bx%7D":            "/{x} {x}",
			"/%25":                "/{x} %",
			"/%252Fa":             "/{x} %2Fa",
			"/%20%09":             "/{x}  \t",
			"/a%0d%0aX-Bad:%20":   "/{x} a\r\nX-Bad: ",
			"/%00%0b%7f%C2%A0%FF": "/{x} \x00\v\x7f\u00a0\xff",
			"/é":                  "/{x} é",
			"/😀":                  "/{x} 😀",
			"/\u1f600":            "/{x} \u1f600", // which one truncation takes for the one before
		} {
			if _, got := do(t, caller, http.MethodGet, "https://paths.example"+path, "", ""); got != want {
				t.Errorf("%q reaches %q, want %q", path, got, want)
			}
		}
		if dropped := callee.Stats().Malformed; dropped != 0 || !caller.Connected() {
			t.Errorf("%d messages were dropped, connected: %t", dropped, caller.Connected())
		}
	})
}

// TestEveryByteArrives sends each byte in each place that a caller fills, and has it sent back. What a header cannot hold
// becomes a blank, and no byte makes another header.
func TestEveryByteArrives(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect("bytes.example"), w.connect("caller.example")
		err := callee.Handle(http.MethodPost, "/at/{x}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name := range r.Header {
				w.Header().Add("X-Names", name)
			}
			w.Header()["X-Value"] = r.Header["X-Value"]
			w.Header()["X-Back"] = []string{"a" + r.PathValue("x") + "b"}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprintf(w, "%s|%s|%s", r.PathValue("x"), r.URL.Query().Get("q"), r.PostFormValue("f"))
		}))
		if err != nil {
			t.Fatal(err)
		}
		for c := range 256 {
			checkByte(t, caller, string([]byte{byte(c)}))
		}
	})
}

func checkByte(t *testing.T, caller interface {
	Do(request *http.Request) (*http.Response, error)
}, c string) {
	t.Helper()
	escaped := fmt.Sprintf("%%%02X", c)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://bytes.example/at/"+escaped+"?q="+escaped, strings.NewReader("f="+escaped))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header["X-Value"] = []string{"a" + c + "b"}
	request.Header["Z"+c+"z"] = []string{"1"}
	response, err := caller.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := readAll(t, response), c+"|"+c+"|"+c; got != want {
		t.Errorf("byte %q arrives as %q", c, got)
	}
	value := "a" + c + "b"
	if c[0] < ' ' && c != "\t" || c == "\x7f" {
		value = "a b"
	}
	if got := response.Header.Get("X-Value") + response.Header.Get("X-Back"); got != value+value {
		t.Errorf("byte %q in a header is %q", c, got)
	}
	for _, name := range response.Header.Values("X-Names") {
		if name != "Content-Type" && name != "X-Value" && !strings.EqualFold(name, "Z"+c+"z") {
			t.Errorf("byte %q makes the header %q", c, name)
		}
	}
}
