package openapi_test

import (
	"testing"
	"time"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// Waits takes durations in every place there is.
type Waits struct{}

func (Waits) Wait(least time.Duration, each []time.Duration, most *time.Duration, by map[string]time.Duration) {
}

func TestDurationsSayWhatTheyCount(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: endpoints(t, Waits{}, restmap.Options{
		Methods: map[string]restmap.MethodOptions{"Wait": {HTTPMethod: "GET", Path: "/waits/{least}"}},
	})})
	validate(t, document)
	const asText = "nanoseconds, or text such as 1.5s"
	for _, parameter := range document.Paths["/h.example:443/waits/{least}"].Get.Parameters {
		schema, want := parameter.Schema, asText
		switch parameter.Name {
		case "each":
			schema = schema.Items
		case "by":
			schema, want = parameter.Content["application/json"].Schema.AdditionalProperties, "nanoseconds"
		}
		if schema.Description != want {
			t.Errorf("%s is described as %q, want %q", parameter.Name, schema.Description, want)
		}
	}
	posted := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: endpoints(t, Waits{}, restmap.Options{})})
	if got := posted.Components.Schemas["Wait_in"].Properties["least"].Description; got != "nanoseconds" {
		t.Errorf("in a body it is described as %q", got)
	}
}
