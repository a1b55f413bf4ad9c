package portal_test

import (
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// TestDocument_OpenAPI31 says in OpenAPI 3.1 what the document of 3.0.0 says to the same caller, and has what is
// published as webhooks.
func TestDocument_OpenAPI31(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example", i.Trust())
	conn := entrance.Bus.Connect(ordersapi.Host, i.Trust())
	_, err := ordersapi.NewPublisher(conn, bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	forAll, err := events.NewPublisher(conn, "vault.example")
	require.NoError(t, err)
	events.NewEvent[bus.Args](forAll, "/on-opened")
	for _, test := range []struct {
		name, header string
		webhooks     []string
		tags         []string
	}{
		{"anonymous", "X: anonymous", []string{"vault.example/on-opened"}, []string{"vault.example"}},
		{"cook", i.In("cook"), []string{"vault.example/on-opened"}, []string{"vault.example"}},
		{"keeper", i.In("keeper"), []string{"orders.example/on-ordered", "vault.example/on-opened"},
			[]string{"orders.example", "vault.example"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := entrance.Get("/portal/openapi.json", test.header).Text
			assert.Equal(t, before, entrance.Get("/portal/openapi.json?version=3.0", test.header).Text)
			got := entrance.Get("/portal/openapi.json?version=3.1", test.header)
			require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
			assert.Equal(t, got.Text, entrance.Get("/portal/openapi.json?version=3.1", test.header).Text)
			assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/openapi.json?version=3.1", test.header,
				"If-None-Match: "+got.Header.Get("Etag")).StatusCode)
			assert.Equal(t, before, entrance.Get("/portal/openapi.json", test.header).Text)
			document, err := openapi3.NewLoader().LoadFromData([]byte(got.Text))
			require.NoError(t, err)
			require.NoError(t, document.Validate(t.Context()))
			assert.Equal(t, "3.1.2", document.OpenAPI)
			assert.Equal(t, test.webhooks, slices.Sorted(maps.Keys(document.Webhooks)))
			older := entrance.document(test.header)
			assert.Equal(t, paths(older), paths(document))
			assert.Equal(t, older.Servers[0].URL, document.Servers[0].URL)
			var tags []string
			for _, tag := range document.Tags {
				tags = append(tags, tag.Name)
			}
			assert.Equal(t, test.tags, tags)
			if len(test.webhooks) == 1 {
				assert.NotContains(t, got.Text, "rdered", "nothing of what the caller may not see")
				assert.NotContains(t, got.Text, "gold", "nothing of what the caller may not call")
			}
		})
	}
	unauthorized := entrance.Get("/portal/openapi.json?version=3.1", "Authorization: Bearer x")
	assert.Equal(t, http.StatusUnauthorized, unauthorized.StatusCode)
}

// TestDocument_OpenAPI31_Changes follows what is published, and names what is missing.
func TestDocument_OpenAPI31_Changes(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	var later atomic.Int64
	entrance.register(portal.WithClock(func() time.Time { return time.Now().Add(time.Duration(later.Load())) }),
		portal.WithTimeouts(time.Minute))
	entrance.calculate("calculator.example")
	entrance.awaitAnnouncements()
	assert.NotContains(t, entrance.Get("/portal/openapi.json?version=3.1").Text, "webhooks")

	_, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host))
	require.NoError(t, err)
	odd := portaltest.NewForeignInstance(t, entrance.Bus, "odd.example")
	odd.Tells("/asyncapi.json", `{"asyncapi":"2.0.0"}`)
	_, err = odd.Raw.Subscribe(subject.Subscription(odd.Plane, "888", odd.Host, "GET", ">"), odd.Answer)
	require.NoError(t, err)
	require.NoError(t, odd.Raw.Flush())
	entrance.awaitAnnouncements()
	later.Add(int64(2 * time.Minute))
	text := entrance.Get("/portal/openapi.json?version=3.1").Text
	assert.Contains(t, text, `"webhooks":{"orders.example/on-ordered":{"post":`)
	assert.Contains(t, text, `"Events: odd.example is left out: its document cannot be read: `+
		`AsyncAPI document: its version is not 3.0."`)
}

// TestDocument_UnknownVersion names the versions that there are.
func TestDocument_UnknownVersion(t *testing.T) {
	t.Parallel()
	entrance := openPortal(t, portaltest.NewIssuer(t))
	for query, want := range map[string]string{
		"?version=3.2":             `there is no OpenAPI document of version \"3.2\": give it as 3.0 or 3.1`,
		"?version=":                `there is no OpenAPI document of version \"\": give it as 3.0 or 3.1`,
		"?version=3.1&version=3.1": "version is given 2 times: give it once, as 3.0 or 3.1",
	} {
		got := entrance.Get("/portal/openapi.json" + query)
		assert.Equal(t, http.StatusBadRequest, got.StatusCode, query)
		assert.Contains(t, got.Text, want, query)
	}
}
