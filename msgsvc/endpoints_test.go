package msgsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

// goldenHome is the home page of three instances, with names in the place of IDs.
const goldenHome = `Processed by: <any>

Unicast
GET https://messaging.example/default-queue
> DefaultQueue <one>

Direct addressing unicast
GET https://<one>.messaging.example/default-queue
> DefaultQueue <one>

Multicast
GET https://messaging.example/no-queue
> NoQueue <first>
> NoQueue <second>
> NoQueue <last>

Direct addressing multicast
GET https://<last>.messaging.example/no-queue
> NoQueue <last>

Refresh to see who answers next.
`

func TestHome(t *testing.T) {
	t.Parallel()
	for name, shortCircuit := range map[string]bool{"over the short circuit": true, "over the broker": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			var ids []string
			for range 3 {
				conn := b.Connect(host, withShortCircuit(shortCircuit))
				serve(t, conn)
				ids = append(ids, conn.ID())
			}
			caller := b.Connect("caller.example", withShortCircuit(shortCircuit))
			for range 5 {
				status, text := get(t, caller, page("home"))
				if status != http.StatusOK {
					t.Fatalf("status %d: %s", status, text)
				}
				checkHome(t, text, ids)
			}
		})
	}
}

// responder finds who answered: "> NoQueue k3v9x2m4qz".
var responder = regexp.MustCompile(`(?m)^> \w+ (\w+)$`)

// checkHome puts the IDs that a page lists into the golden page, which says where else they have to be.
func checkHome(t *testing.T, text string, instances []string) {
	t.Helper()
	first, _, _ := strings.Cut(strings.TrimPrefix(text, "Processed by: "), "\n")
	responders := responder.FindAllStringSubmatch(text, -1)
	if len(responders) != 6 {
		t.Fatalf("%d responders, want 6:\n%s", len(responders), text)
	}
	id := func(i int) string { return responders[i][1] }
	want := strings.NewReplacer("<any>", first, "<one>", id(0), "<first>", id(2), "<second>", id(3), "<last>",
		id(4)).Replace(goldenHome)
	if text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
	assert.Contains(t, instances, first)
	assert.Contains(t, instances, id(0))
	if all := []string{id(2), id(3), id(4)}; !sameElements(all, instances) {
		t.Errorf("the multicast lists %v, the instances are %v", all, instances)
	}
}

func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestHome_Alone holds that a page is shown when none of its calls can be made.
func TestHome_Alone(t *testing.T) {
	t.Parallel()
	alone := newInstance(t, bustest.New(t))
	require.NoError(t, alone.conn.Close(t.Context()))
	recorder := httptest.NewRecorder()
	err := alone.service.Home(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/home", http.NoBody))
	require.NoError(t, err)
	want := `Processed by: ` + alone.conn.ID() + `

Unicast
GET https://messaging.example/default-queue
! 503 Service Unavailable: the connection of messaging.example is closed

Direct addressing unicast
! nobody to address: the call above had no answer

Multicast
GET https://messaging.example/no-queue
! 503 Service Unavailable: the connection of messaging.example is closed

Direct addressing multicast
! nobody to address: the call above had no answer

Refresh to see who answers next.
`
	if got := recorder.Body.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestHome_ShowsFailures holds that an instance which fails is shown as such, and one that talks too much keeps to
// its line.
func TestHome_ShowsFailures(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b)
	answer := func(write func(w http.ResponseWriter, r *http.Request)) string {
		conn := b.Connect(host)
		if err := conn.Handle(http.MethodGet, "/no-queue", http.HandlerFunc(write), bus.NoQueue()); err != nil {
			t.Fatal(err)
		}
		return conn.ID()
	}
	failing := answer(func(w http.ResponseWriter, r *http.Request) {
		bus.WriteError(w, r, bus.Errorf(http.StatusTeapot, "out of\norder"))
	})
	answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "NoQueue spoof\n\nUnicast\n> NoQueue again") // to memory
	})
	_, text := get(t, b.Connect("caller.example"), page("home"))
	for _, want := range []string{
		"\n! 418 I'm a teapot: out of order (messaging.example " + failing + ")\n",
		"\n> NoQueue spoof Unicast > NoQueue again\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}

// TestPages holds what each endpoint prints, byte for byte.
func TestPages(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	id := newInstance(t, b).conn.ID()
	caller := b.Connect("caller.example")
	for _, test := range []struct{ address, want string }{
		{page("default-queue"), "DefaultQueue <id>\n"},
		{page("no-queue"), "NoQueue <id>\n"},
		{page("cache-load", "key", "k"), "key: k\nfound: no\nLoaded by <id>\n"},
		{page("cache-store", "key", "k", "value", "v"), "key: k\nvalue: v\nStored by <id>\n"},
		{page("cache-load", "key", "k"), "key: k\nfound: yes\nvalue: v\nLoaded by <id>\n"},
		{page("cache-store", "key", "k", "value", ""), "key: k\nvalue: \nStored by <id>\n"},
		{page("cache-load", "key", "k"), "key: k\nfound: yes\nvalue: \nLoaded by <id>\n"},
		{page("cache-store", "key", "a b&ü", "value", "50% = ½"), "key: a b&ü\nvalue: 50% = ½\nStored by <id>\n"},
		{page("cache-load", "key", "a b&ü", "unknown", "1"), "key: a b&ü\nfound: yes\nvalue: 50% = ½\nLoaded by <id>\n"},
		{page("cache-store", "key", "\x00\xff", "value", "\xfe"), "key: \x00\xff\nvalue: \xfe\nStored by <id>\n"},
		{page("cache-load", "key", "\x00\xff"), "key: \x00\xff\nfound: yes\nvalue: \xfe\nLoaded by <id>\n"},
	} {
		status, text := get(t, caller, test.address)
		want := strings.ReplaceAll(test.want, "<id>", id)
		assert.Equal(t, http.StatusOK, status, test.address)
		assert.Equal(t, want, text, test.address)
	}
}

// TestPlainText holds that no browser takes what a client stored for a page of ours.
func TestPlainText(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		page("cache-load", "key", "<script>"), http.NoBody)
	require.NoError(t, err)
	response, err := b.Connect("caller.example").Do(request)
	require.NoError(t, err)
	if got, want := response.Header.Get("Content-Type"), "text/plain; charset=utf-8"; got != want {
		t.Errorf("Content-Type %q, want %q", got, want)
	}
	if got, want := response.Header.Get("X-Content-Type-Options"), "nosniff"; got != want {
		t.Errorf("X-Content-Type-Options %q, want %q", got, want)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b, msgsvc.WithCacheSize(1000))
	caller := b.Connect("caller.example")
	at := "https://" + host
	for _, test := range []struct {
		name, address string
		status        int
		detail        string
	}{
		{"store nothing", at + "/cache-store", 400, "the query argument key is missing"},
		{"store without a key", page("cache-store", "value", "v"), 400, "the query argument key is missing"},
		{"store an empty key", page("cache-store", "key", "", "value", "v"), 400, "the key is empty"},
		{"store without a value", page("cache-store", "key", "k"), 400, "the query argument value is missing"},
		{"store two keys", page("cache-store", "key", "k", "key", "l", "value", "v"), 400,
			"the query argument key is given 2 times"},
		{"store two values", page("cache-store", "key", "k", "value", "v", "value", "w"), 400,
			"the query argument value is given 2 times"},
		{"names are exact", page("cache-store", "Key", "k", "value", "v"), 400, "the query argument key is missing"},
		{"load without a key", at + "/cache-load", 400, "the query argument key is missing"},
		{"load an empty key", at + "/cache-load?key", 400, "the key is empty"},
		{"load two keys", page("cache-load", "key", "k", "key", "l"), 400, "the query argument key is given 2 times"},
		{"a broken escape", at + "/cache-load?key=%zz", 400, `the query cannot be read: invalid URL escape "%zz"`},
		{"a semicolon", at + "/cache-load?key=a;value=b", 400,
			"the query cannot be read: invalid semicolon separator in query"},
		{
			"a long key", page("cache-load", "key", strings.Repeat("k", msgsvc.MaxKeyLength+1)), 400,
			"a key of 1025 bytes exceeds the limit of 1024",
		},
		{
			"a large value", page("cache-store", "key", "k", "value", strings.Repeat("v", 744)), 413,
			"an entry of 1001 bytes (key, value and 256 of book-keeping) exceeds the limit of 1000",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			status, text := get(t, caller, test.address)
			var problem struct{ Detail string }
			if err := json.Unmarshal([]byte(text), &problem); err != nil {
				t.Fatalf("%d %q: %v", status, text, err)
			}
			assert.Equal(t, test.status, status)
			assert.Equal(t, test.detail, problem.Detail)
		})
	}
}

// TestLargestEntry holds that the limits are the last values that are taken.
func TestLargestEntry(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b, msgsvc.WithCacheSize(2000))
	caller := b.Connect("caller.example")
	key := strings.Repeat("k", msgsvc.MaxKeyLength)
	value := strings.Repeat("v", 2000-msgsvc.MaxKeyLength-msgsvc.EntryOverhead)
	if status, text := get(t, caller, page("cache-store", "key", key, "value", value)); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if _, text := get(t, caller, page("cache-load", "key", key)); !strings.Contains(text,
		"\nfound: yes\nvalue: "+value+"\n") {
		t.Errorf("not found: %s", text)
	}
}

func TestEndpoints_RefuseOtherMethods(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b)
	caller := b.Connect("caller.example")
	for _, endpoint := range []string{"home", "default-queue", "no-queue", "cache-store", "cache-load"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			if status, _ := send(t, caller, method, page(endpoint, "key", "k", "value",
				"v")); status != http.StatusMethodNotAllowed {
				t.Errorf("%s /%s: %d, want 405", method, endpoint, status)
			}
		}
	}
	if status, _ := get(t, caller, page("close")); status != http.StatusNotFound {
		t.Errorf("GET /close: %d, want 404: it is no endpoint", status)
	}
}

// TestDocument holds that the portal shows the pages, with their descriptions, and nothing of what the replicas
// say among themselves.
func TestDocument(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	newInstance(t, b)
	caller := b.Connect("caller.example")
	status, text := get(t, caller, "https://"+host+"/openapi.json")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	var document struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct{ Description string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	if !strings.HasPrefix(document.Info.Description, "Service shows how calls find their way") {
		t.Errorf("description %q", document.Info.Description)
	}
	for endpoint, want := range map[string]string{
		"home": "Home calls", "default-queue": "DefaultQueue is", "no-queue": "NoQueue is",
		"cache-store": "CacheStore keeps", "cache-load": "CacheLoad finds",
	} {
		operations := document.Paths["/"+host+":443/"+endpoint]
		require.Len(t, operations, 1, endpoint)
		assert.True(t, strings.HasPrefix(operations["get"].Description, want), "%q", operations["get"].Description)
	}
	if len(document.Paths) != 5 {
		t.Errorf("%d paths, want 5", len(document.Paths))
	}
	if status, _ := get(t, caller, "https://"+host+":444/openapi.json"); status != http.StatusNotFound {
		t.Errorf("document of port 444: %d, want 404", status)
	}
}
