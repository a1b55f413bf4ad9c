package events_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// publishByHand posts the arguments of an event, and returns the status and the body, or the detail of the problem.
func publishByHand(ctx context.Context, t *testing.T, caller *bus.Conn, event, contentType,
	body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://parcels.example:888/publish/"+event,
		strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := caller.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var problem struct {
		Detail   string
		Executed string
		Errors   []struct{ Name, Detail string }
	}
	if response.StatusCode < http.StatusBadRequest {
		return response.StatusCode, string(answer)
	}
	require.NoError(t, json.Unmarshal(answer, &problem))
	assert.Equal(t, "no", problem.Executed)
	for _, each := range problem.Errors {
		problem.Detail += "; " + each.Name + ": " + each.Detail
	}
	return response.StatusCode, problem.Detail
}

const wholeParcel = `{"number":7,"carrier":"ship","stops":[{"city":"Rome"}]}`

// TestPublishByHand_ReachesSubscribers publishes with the options of the publisher: at most once, or stored.
func TestPublishByHand_ReachesSubscribers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		publish []events.PublishOption
		handle  []events.SubscribeOption
	}{
		{"at most once", nil, nil},
		{"stored", []events.PublishOption{events.Durable()}, []events.SubscribeOption{events.Durable()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := kit.NewBus(t, broker.JetStream(t.TempDir()))
			newParcels(t, b.Connect(parcelsHost), test.publish...)
			handled := parcelSink{make(chan int, 1)}
			require.NoError(t, events.Subscribe[parcelEvents](b.Connect("mailer.example"), parcelsHost, handled, test.handle...))
			status, text := publishByHand(t.Context(), t, b.Connect("caller.example"), "on-sent",
				"application/json", wholeParcel)
			assert.Equal(t, http.StatusAccepted, status, text)
			assert.Regexp(t, `^\{"msgId":"[A-Za-z0-9_-]{20,}"\}$`, text)
			assert.Equal(t, 7, <-handled.sent)
		})
	}
}

// TestPublishByHand_Refuses names what is wrong with an event, before anything is sent.
func TestPublishByHand_Refuses(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	source, caller := b.Connect(parcelsHost), b.Connect("caller.example")
	newParcels(t, source, events.Durable())
	unknown, err := events.NewPublisher(source, "returns.example")
	require.NoError(t, err)
	events.NewEvent[bus.Args](unknown, "/on-returned")
	for _, test := range []struct {
		name, event, contentType, body string
		status                         int
		detail                         string
	}{
		{"misspelt", "on-sennt", "", "", 404,
			"parcels.example publishes no event on-sennt; it has on-lost, on-sent, on-returned; did you mean on-sent?"},
		{"unknown", "a/b", "", "", 404, "parcels.example publishes no event a/b; it has on-lost, on-sent, on-returned"},
		{"of no interface", "on-returned", "application/json", "{}", 409,
			"the publisher of https://returns.example:417/on-returned does not know its arguments, so they cannot be checked: " +
				"add events.Of to its events.NewPublisher, or generate it with apigen -events"},
		{"violations", "on-sent", "application/json", `{"number":1000,"carrier":"air","stops":[{"city":""}]}`, 422,
			"carrier (body): expects one of ship, train; number (body): expects less than 1000; stops[0].city (body): " +
				"expects at least 1 character"},
		{"wrong type", "on-sent", "application/json", `{"number":"7","carrier":"ship"}`, 400, "number: expects an integer"},
		{"no object", "on-sent", "application/json", `[]`, 400, "expects an object"},
		{"a form", "on-sent", "application/x-www-form-urlencoded", "number=7", 415,
			`content type "application/x-www-form-urlencoded": send the arguments as application/json`},
		{"no content type", "on-sent", "", wholeParcel, 415, `content type "": send the arguments as application/json`},
		{"too large", "on-lost", "application/json", `{"number":7,"note":"` + strings.Repeat("x", 1<<20) + `"}`, 413,
			"an event of "},
		{"no key", "on-sent", "", "", 422, "number (body): is missing; carrier (body): is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			status, detail := publishByHand(t.Context(), t, caller, test.event, test.contentType, test.body)
			assert.Equal(t, test.status, status, detail)
			assert.Contains(t, detail, test.detail)
		})
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://mailer.example:888/publish/on-sent",
		strings.NewReader(wholeParcel))
	require.NoError(t, err)
	require.NoError(t, events.Subscribe[parcelEvents](b.Connect("mailer.example"), parcelsHost, parcelSink{}))
	_, err = caller.Do(request)
	kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
}

// TestPublishByHand_Claims lets only callers with the claims of the publisher see its events, and publish them.
func TestPublishByHand_Claims(t *testing.T) {
	t.Parallel()
	i := kit.NewIssuer(t)
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		newParcels(t, w.Connect(parcelsHost, i.Trust()), bus.RequireClaims(kit.Keepers))
		handled := parcelSink{make(chan int, 1)}
		require.NoError(t, events.Subscribe[parcelEvents](w.Connect("mailer.example", i.Trust()), parcelsHost, handled))
		checkPublishClaims(t, w.Connect("caller.example"), i)
		assert.Equal(t, 7, <-handled.sent)
	})
}

func checkPublishClaims(t *testing.T, caller *bus.Conn, i *kit.Issuer) {
	t.Helper()
	for _, test := range []struct {
		name, token, event string
		status             int
		text               string
	}{
		{"no token", "", "on-sent", 401, "a token is required; send it as Authorization: Bearer …"},
		{"another", i.Token(claims.Claims{"roles": []string{"guest"}}), "on-sent", 403,
			"the claims of the token do not give access"},
		{"invalid", "x", "on-sent", 401, "token"},
		{"list for none", "", "on-sennt", 404,
			"parcels.example publishes no event on-sennt; it has no events for this caller"},
		{"keeper", i.Keeper(), "on-sent", 202, "msgId"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text := publishByHand(bus.WithActor(t.Context(), test.token), t, caller, test.event,
				"application/json", wholeParcel)
			assert.Equal(t, test.status, status, text)
			assert.Contains(t, text, test.text)
			documented := http.StatusNotFound
			if test.status == 202 {
				documented = http.StatusOK
			} else if test.name == "invalid" {
				documented = http.StatusUnauthorized
			}
			err := caller.Call(bus.WithActor(t.Context(), test.token), "GET https://parcels.example:888/asyncapi.json", nil, nil)
			assert.Equal(t, documented, bus.StatusOf(err))
		})
	}
}
