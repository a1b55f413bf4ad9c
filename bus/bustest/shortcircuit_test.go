package bustest_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// library responds with the titles of its books in a header, and counts the requests.
type library struct{ asked int }

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked++
	books, _ := strconv.Atoi(r.URL.Query().Get("books"))
	w.Header().Set("X-Titles", strings.Repeat("a title of a book", books))
}

// TestBus_CheckShortCircuit calls a service that works only in the same process: the head of its response exceeds the
// limit of the broker, and only bodies can be split.
func TestBus_CheckShortCircuit(t *testing.T) {
	t.Parallel()
	record := &recordingT{TB: t}
	b := bustest.New(bustest.Reporter(record), broker.MaxPayload(4096))
	unchecked := b.Connect("unchecked.example")
	b.CheckShortCircuit()
	shelf, caller := b.Connect("library.example"), b.Connect("caller.example")
	books := new(library)
	require.NoError(t, shelf.Handle("GET", "/titles", books))
	for _, test := range []struct {
		caller *bus.Conn
		books  int
		text   string
	}{
		{unchecked, 1000, ""},
		{caller, 10, ""},
		{caller, 1000, "GET https://library.example/titles: the response arrives in the process, but would not arrive over " +
			"the broker: 413"},
	} {
		record.texts, books.asked = nil, 0
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://library.example/titles?books="+strconv.Itoa(test.books), http.NoBody)
		require.NoError(t, err)
		response, err := test.caller.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		got := len(response.Header.Get("X-Titles"))
		assert.Equal(t, 17*test.books, got, "%d books", test.books)
		assert.Equal(t, 1, books.asked, "%d books", test.books)
		texts, _ := record.seen()
		all := strings.Join(texts, "\n")
		assert.True(t, strings.HasPrefix(all, test.text), all)
		assert.Equal(t, all == "", (test.text == ""), "%d books", test.books)
	}
}
