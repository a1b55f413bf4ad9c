package portal_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestTrace(t *testing.T) {
	t.Parallel()
	d := open(t)
	require.NoError(t, portal.Register(d.Bus.Connect("portal"), append(longTimeouts(), portal.WithOperators(""))...))
	require.NoError(t, bus.Serve(d.Bus.Connect("vault.example", trace.Record()), portaltest.SecuredService{}))
	odd := portaltest.NewForeignInstance(t, d.Bus, "odd.example")
	odd.Tells("/trace", "<html>")
	field, id := trace.NewTraceparent()
	require.Equal(t, http.StatusOK, d.Get("/vault.example/stones", "Traceparent: "+field).StatusCode)

	var got trace.Trace
	answer := d.Get("/portal/trace.json?id=" + id)
	require.Equal(t, http.StatusOK, answer.StatusCode, answer.Text)
	answer.Decode(t, &got)
	require.Len(t, got.Roots, 1)
	assert.Equal(t, "vault.example", got.Roots[0].To)
	assert.Equal(t, 3, got.Instances)
	assert.Equal(t, 1, got.Without, "the ingress; the portal asks")
	require.Len(t, got.Failed, 1)
	assert.Equal(t, "odd.example", got.Failed[0].Host)
	assert.Contains(t, got.Failed[0].Why, "no list of calls")

	odd.Tells("/trace", `{"calls":"`+strings.Repeat("x", 10<<20)+`"}`)
	answer = d.Get("/portal/trace.json?id=" + field)
	require.Equal(t, http.StatusOK, answer.StatusCode, "a whole Traceparent will do: %s", answer.Text)
	assert.Contains(t, answer.Text, `"odd.example"`)
}

func TestTrace_Refused(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	d := openFor(t, i)
	require.NoError(t, portal.Register(d.Bus.Connect("portal", i.Trust()),
		append(longTimeouts(), portal.WithOperators(`"keeper" in roles`))...))
	_, id := trace.NewTraceparent()
	for _, test := range []struct {
		name, id, header string
		status           int
		detail           string
	}{
		{"no id", "", i.In("keeper"), 400, "32 hexadecimal digits"},
		{"not an id", "%3Cb%3E", i.In("keeper"), 400, "32 hexadecimal digits"},
		{"unknown", id, i.In("keeper"), 404, "no instance remembers trace " + id + ": it is still running or older than " +
			"what their memory holds, or the services do not use trace.Record; of 1 that have answered 1 do not"},
		{"anonymous", id, "X: y", 401, "only operators may see traces"},
		{"others", id, i.In("cook"), 403, "do not satisfy portal.WithOperators"},
	} {
		t.Run(test.name, func(t *testing.T) {
			failed := d.Get("/portal/trace.json?id="+test.id, test.header).Problem(t)
			assert.Equal(t, test.status, failed.Status)
			assert.Contains(t, failed.Detail, test.detail)
		})
	}
}

func TestWithTraceLink(t *testing.T) {
	const address = "https://grafana.example/trace/{traceId}"
	for _, test := range []struct{ name, environment, option, want string }{
		{"none", "", "", ""},
		{"environment", address, "", address},
		{"the option wins", "https://other.example/{traceId}", address, address},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_TRACE_LINK", test.environment)
			d := open(t)
			options := longTimeouts()
			if test.option != "" {
				options = append(options, portal.WithTraceLink(test.option))
			}
			require.NoError(t, portal.Register(d.Bus.Connect("portal"), options...))
			assert.JSONEq(t, `{"template":"`+test.want+`"}`, d.Get("/portal/tracelink.json").Text)
		})
	}
	for _, bad := range []string{"https://grafana.example/trace/", "javascript:alert({traceId})", "/trace/{traceId}",
		"https://a:b@grafana.example/{traceId}"} {
		err := portal.Register(open(t).Bus.Connect("portal"), portal.WithTraceLink(bad))
		assert.ErrorContains(t, err, "portal.WithTraceLink or BUS_TRACE_LINK is", bad)
	}
}
