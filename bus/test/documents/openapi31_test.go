package documents_test

import (
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// read returns a document of the treasury for a caller with roles.
func read(t *testing.T, caller *bus.Conn, token, query string) (int, string) {
	t.Helper()
	request := kit.MustRequest(t, "https://"+treasuryHost+"/openapi.json"+query)
	response, err := caller.Do(request.WithContext(bus.WithActor(t.Context(), token)))
	require.NoError(t, err)
	return response.StatusCode, kit.BodyOf(t, response)
}

// TestDocument_OpenAPI31 says in OpenAPI 3.1 what the document of 3.0.0 says to the same caller, and has the events
// that the caller may see.
func TestDocument_OpenAPI31(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		conn := w.Connect(treasuryHost, i.Trust())
		serveTreasury(t, conn)
		published := func(token string) map[string]*openapi3.PathItem {
			caller := w.Connect("caller.example")
			_, before := read(t, caller, token, "")
			_, named := read(t, caller, token, "?version=3.0")
			assert.Equal(t, before, named)
			status, text := read(t, caller, token, "?version=3.1")
			require.Equal(t, http.StatusOK, status, text)
			_, again := read(t, caller, token, "?version=3.1")
			assert.Equal(t, text, again)
			_, after := read(t, caller, token, "")
			assert.Equal(t, before, after)
			older, newer := load(t, before), load(t, text)
			assert.Equal(t, "3.1.2", newer.OpenAPI)
			assert.Empty(t, older.Webhooks)
			assert.ElementsMatch(t, older.Paths.InMatchingOrder(), newer.Paths.InMatchingOrder())
			for name := range older.Components.Schemas {
				assert.Contains(t, newer.Components.Schemas, name)
			}
			return newer.Webhooks
		}
		keeper := i.Token(claims.Claims{"roles": []string{"keeper", "canary"}})
		assert.Empty(t, published(keeper), "nothing is published yet")
		open, err := events.NewPublisher(conn, treasuryHost)
		require.NoError(t, err)
		events.NewEvent[struct {
			Count int `json:"count"`
		}](open, "/on-counted")
		_, err = ordersapi.NewPublisher(conn, bus.RequireClaims(kit.Keepers))
		require.NoError(t, err)
		all := published(keeper)
		assert.Len(t, all, 2)
		require.Contains(t, all, "on-counted")
		require.Contains(t, all, "orders.example/on-ordered")
		event := all["orders.example/on-ordered"].Post
		assert.Equal(t, "OnOrdered(number int, item string, quantity int)", event.Summary)
		payload := event.RequestBody.Value.Content["application/json"].Schema.Value
		assert.Equal(t, &openapi3.Types{"string"}, payload.Properties["item"].Value.Type)
		anonymous := published("")
		assert.Len(t, anonymous, 1)
		assert.Contains(t, anonymous, "on-counted")
		_, text := read(t, w.Connect("caller.example"), "", "?version=3.1")
		for _, hidden := range []string{"rdered", "anar"} {
			assert.NotContains(t, text, hidden, "nothing of what the caller may not see")
		}
	})
}

func load(t *testing.T, text string) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	require.NoError(t, err, text)
	require.NoError(t, document.Validate(t.Context()), text)
	return document
}

// TestDocument_UnknownVersion names the versions that there are.
func TestDocument_UnknownVersion(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		serveTreasury(t, w.Connect(treasuryHost, kit.NewIssuer(t).Trust()))
		caller := w.Connect("caller.example")
		for query, want := range map[string]string{
			"?version=3.2":             `there is no OpenAPI document of version \"3.2\": give it as 3.0 or 3.1`,
			"?version=":                `there is no OpenAPI document of version \"\": give it as 3.0 or 3.1`,
			"?version=3.0&version=3.1": "version is given 2 times: give it once, as 3.0 or 3.1",
		} {
			status, text := read(t, caller, "", query)
			assert.Equal(t, http.StatusBadRequest, status, query)
			assert.Contains(t, text, want, query)
		}
	})
}
