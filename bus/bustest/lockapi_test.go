package bustest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
)

// These are versions of a service: the old one, one with an addition, and one with a breaking change.
type (
	lender      struct{}
	moreLender  struct{ lender }
	otherLender struct{}
)

func (lender) Lend(_ context.Context, book string) (days int, err error)       { return 14, nil }
func (moreLender) Return(_ context.Context, book string) (fine int, err error) { return 0, nil }
func (otherLender) Lend(_ context.Context, title string) (until string, err error) {
	return "", nil
}

func names() []bus.ServeOption {
	return []bus.ServeOption{bus.ParamNames("Lend", "book", "days")}
}

func TestLockAPI(t *testing.T) { //nolint:paralleltest // it sets the environment
	path := filepath.Join(t.TempDir(), "testdata", "lender.api.json")
	failureOf := func(lock func(t testing.TB)) string {
		record := &recordingT{TB: t}
		lock(bustest.Reporter(record))
		texts, _ := record.seen()
		return strings.Join(texts, "\n")
	}
	asBefore := func(t testing.TB) {
		t.Helper()
		bustest.LockAPI(t, path, lender{}, names()...)
	}
	grown := func(t testing.TB) {
		t.Helper()
		bustest.LockAPI(t, path, moreLender{}, append(names(), bus.ParamNames("Return", "book", "fine"))...)
	}
	other := func(t testing.TB) {
		t.Helper()
		bustest.LockAPI(t, path, otherLender{}, bus.ParamNames("Lend", "title", "until"))
	}

	if got := failureOf(asBefore); !strings.Contains(got,
		"the lock "+path+" does not exist yet; run BUSLINE_UPDATE=1 go test -run '^TestLockAPI$' to write it") {
		t.Errorf("without a lock: %s", got)
	}
	t.Run("1.2 (old)", func(t *testing.T) { //nolint:paralleltest // chosen by its name
		record := &recordingT{TB: t}
		bustest.LockAPI(bustest.Reporter(record), path, lender{}, names()...)
		if got, _ := record.seen(); !strings.Contains(strings.Join(got, "\n"), `-run '^TestLockAPI$/^1\.2_\(old\)$'`) {
			t.Errorf("without a lock: %s", got)
		}
	})
	t.Setenv("BUSLINE_UPDATE", "1")
	if got := failureOf(asBefore); got != "" {
		t.Errorf("writing the lock: %s", got)
	}
	t.Setenv("BUSLINE_UPDATE", "")
	if got := failureOf(asBefore); got != "" {
		t.Errorf("as before: %s", got)
	}
	got := failureOf(grown)
	assert.True(t, strings.HasPrefix(got, "log: "), got)
	assert.Contains(t, got, "POST /return (Return) is new", "with more")
	got = failureOf(other)
	for _, want := range []string{
		"POST /lend: the argument book is no longer read: what callers send is ignored",
		"POST /lend: the result's days is gone: callers that read it find nothing",
		"fix it, or, if no caller is affected, run BUSLINE_UPDATE=1 go test",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("with less: %s\nwant in it: %s", got, want)
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(text), "}\n"), string(text))
	assert.GreaterOrEqual(t, strings.Count(string(text), "\n"), 20)
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	if got := failureOf(asBefore); !strings.Contains(got, "is not a lock file: ") {
		t.Errorf("with a broken lock: %s", got)
	}
}

// TestLockConn holds that the lock includes claims, which the served document omits.
func TestLockConn(t *testing.T) { //nolint:paralleltest // it sets the environment
	path := filepath.Join(t.TempDir(), "lender.api.json")
	serve := func(options ...bus.ServeOption) *bus.Conn {
		conn := bustest.New(t).Connect("lender.example")
		if err := bus.Serve(conn, lender{}, append(names(), options...)...); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	t.Setenv("BUSLINE_UPDATE", "1")
	bustest.LockConn(t, path, serve(bus.RequireClaims(`level > 2`), bus.Port(444)))
	t.Setenv("BUSLINE_UPDATE", "")
	record := &recordingT{TB: t}
	bustest.LockConn(bustest.Reporter(record), path, serve(bus.RequireClaims(`level > 3`), bus.Port(444)))
	want := "POST :444/lend: it now requires the claims level > 3 instead of level > 2: callers with only the old " +
		"claims get 403"
	texts, _ := record.seen()
	require.Len(t, texts, 1)
	assert.Contains(t, texts[0], want)
}

// shelf is a service with a path parameter.
type shelf struct{}

func (shelf) ReadBook(_ context.Context, _ int) (string, error) { return "On the bus", nil }

// TestLockAPI_MatchesServer holds that calls of the old version succeed or fail as the lock predicts.
func TestLockAPI_MatchesServer(t *testing.T) { //nolint:paralleltest // it sets the environment
	served := func(options ...bus.ServeOption) []bus.ServeOption {
		return append([]bus.ServeOption{bus.ParamNames("ReadBook", "id", "httpResponseBody")}, options...)
	}
	for _, test := range []struct {
		name    string
		options []bus.ServeOption
		want    string
		works   bool
	}{
		{"another name",
			[]bus.ServeOption{bus.ParamNames("ReadBook", "number", "httpResponseBody")},
			"log: ", true,
		},
		{"hidden", served(bus.Undocumented()),
			"GET /books/{id} (ReadBook) is gone: unless it is only hidden, callers get 404 or 405", true},
		{"another", served(bus.Method("ReadBook", bus.Path("/shelf/{id}"))),
			"GET /books/{id} has moved to GET /shelf/{id}", false},
		{"other port", served(bus.Port(444)), "GET /books/{id} has moved to GET :444/books/{id}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shelf.api.json")
			t.Setenv("BUSLINE_UPDATE", "1")
			bustest.LockAPI(t, path, shelf{}, served()...)
			t.Setenv("BUSLINE_UPDATE", "")
			record := &recordingT{TB: t}
			bustest.LockAPI(bustest.Reporter(record), path, shelf{}, test.options...)
			texts, _ := record.seen()
			require.Len(t, texts, 1)
			assert.Contains(t, texts[0], test.want)
			b := bustest.New(t)
			require.NoError(t, bus.Serve(b.Connect("shelf.example"), shelf{}, test.options...))
			err := b.Connect("caller.example").Call(t.Context(), "GET https://shelf.example/books/{id}", bus.Args{"id": 5}, nil)
			if (err == nil) != test.works {
				t.Errorf("an old caller gets %v", err)
			}
		})
	}
}

// These are versions of the events of a library.
type (
	Loan struct {
		Kind string `json:"kind" jsonschema:"enum=book,enum=map"`
	}
	WiderLoan struct {
		Kind string `json:"kind" jsonschema:"enum=book,enum=map,enum=film"`
		Note string `json:"note"`
	}
	NarrowerLoan struct {
		Kind string `json:"kind" jsonschema:"enum=book"`
	}
	desk         struct{}
	widerDesk    struct{}
	narrowerDesk struct{}
)

func (desk) OnLent(_ context.Context, _ Loan) error                 { return nil }
func (widerDesk) OnLent(_ context.Context, _ WiderLoan) error       { return nil }
func (narrowerDesk) OnLent(_ context.Context, _ NarrowerLoan) error { return nil }
func (narrowerDesk) OnReturned(_ context.Context, _ string) error   { return nil }

// TestLockEvents holds that old subscribers accept or refuse events as the lock predicts, and new subscribers stored
// events.
func TestLockEvents(t *testing.T) { //nolint:paralleltest // it sets the environment
	path := filepath.Join(t.TempDir(), "events.api.json")
	names := []events.SubscribeOption{bus.ParamNames("OnLent", "loan", "")}
	narrower := append([]events.SubscribeOption{bus.ParamNames("OnReturned", "book", "")}, names...)
	failureOf := func(lock func(t testing.TB)) string {
		record := &recordingT{TB: t}
		lock(bustest.Reporter(record))
		texts, _ := record.seen()
		return strings.Join(texts, "\n")
	}
	wider := func(t testing.TB) { t.Helper(); bustest.LockEvents(t, path, widerDesk{}, names...) }
	t.Setenv("BUSLINE_UPDATE", "1")
	bustest.LockEvents(t, path, desk{}, names...)
	t.Setenv("BUSLINE_UPDATE", "")
	got := failureOf(wider)
	for _, want := range []string{
		"the events break subscribers of the version in " + path,
		`OnLent: the argument loan.kind may now also be "film": old subscribers refuse it`,
		"fix it, or, if no subscriber is affected, run",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("wider: %s\nwant in it: %s", got, want)
		}
	}
	lockNarrower := func(t testing.TB) { t.Helper(); bustest.LockEvents(t, path, narrowerDesk{}, narrower...) }
	got = failureOf(lockNarrower)
	assert.True(t, strings.HasPrefix(got, "log: "), got)
	assert.Contains(t, got, "no subscriber breaks:\n  OnReturned is new", "narrower")

	b := bustest.New(t)
	b.AllowUnknownFields() // of a newer publisher, as outside of tests
	require.NoError(t, events.Subscribe(b.Connect("mailer.example"), "library.example", desk{}, names...))
	publisher, err := events.NewPublisher(b.Connect("library.example"), "library.example")
	require.NoError(t, err)
	onLent := events.NewEvent[bus.Args](publisher, "/on-onLent")
	for kind, status := range map[string]int{"book": 200, "film": 422} {
		t.Run(kind, func(t *testing.T) {
			for response, err := range onLent.Outcomes(t.Context(), bus.Args{"loan": WiderLoan{Kind: kind, Note: "new"}}) {
				if response.Status != status {
					t.Errorf("an old subscriber answers %d to a %s: %v", response.Status, kind, err)
				}
			}
		})
	}

	t.Setenv("BUSLINE_UPDATE", "1")
	bustest.LockEvents(t, path, desk{}, append(names, events.Durable())...)
	t.Setenv("BUSLINE_UPDATE", "")
	narrower = append(narrower, events.Durable())
	got = failureOf(lockNarrower)
	if want := `OnLent: the argument loan.kind no longer accepts "map": new subscribers refuse stored events with it`; !strings.Contains(got, want) {
		t.Errorf("stored: %s\nwant in it: %s", got, want)
	}
}

// TestLock_WrongKind holds that LockAPI refuses events, and LockEvents an API.
func TestLock_WrongKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		lock func(t testing.TB, path string)
		want string
	}{
		{"events as an API",
			func(t testing.TB, path string) { //nolint:thelper // it is the test
				bustest.LockAPI(t, path, desk{}, bus.ParamNames("OnLent", "loan", ""))
			},
			"all methods of bustest_test.desk are events: lock them with bustest.LockEvents or, " +
				"if a service has such methods, with LockConn",
		},
		{"an API as events",
			func(t testing.TB, path string) { bustest.LockEvents(t, path, lender{}) }, //nolint:thelper // it is the test
			"method Lend: is not an event handler",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			record := &recordingT{TB: t}
			test.lock(bustest.Reporter(record), filepath.Join(t.TempDir(), "lock.json"))
			texts, _ := record.seen()
			require.Len(t, texts, 1, test.name)
			assert.Contains(t, texts[0], test.want, test.name)
		})
	}
}
