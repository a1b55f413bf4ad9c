package upgrade_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/upgrade"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

const host = "pricing.example"

func TestAPI(t *testing.T) {
	t.Parallel()
	bustest.LockAPI(t, "testdata/pricing.api.json", upgrade.New{}) // the file was written by upgrade.Old
}

// Currency has to be given.
type Currency struct {
	Code string `json:"code" jsonschema:"minLength=3"`
}

// Strict is a version 2 that breaks old callers.
type Strict struct{}

// Price returns a price.
func (Strict) Price(sku string, currency Currency) (cents int, in string) {
	return len(sku), currency.Code
}

func TestAPI_Breaks(t *testing.T) {
	t.Parallel()
	changes := compare.Documents(document(t, upgrade.Old{}), document(t, Strict{}))
	var breaks []string
	for _, change := range changes {
		if change.Breaks {
			breaks = append(breaks, change.Text)
		}
	}
	assert.Contains(t, breaks, "POST /price: the argument currency is now required: callers that omit it get 422")
}

// document returns the document of a version.
func document[T any](t *testing.T, version T) *openapi.Document {
	t.Helper()
	text, err := bus.OpenAPIOf(host, version)
	require.NoError(t, err)
	read := new(openapi.Document)
	require.NoError(t, json.Unmarshal(text, read))
	return read
}

// TestPage has old and new callers call old and new instances.
func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.CheckShortCircuit()
	b.AllowUnknownFields() // of new callers, as old instances do outside of tests
	before, after := b.Connect(host, bus.WithVersion("1")), b.Connect(host, bus.WithVersion("2"))
	require.NoError(t, bus.Serve(before, upgrade.Old{"tea": 450}))
	require.NoError(t, bus.Serve(after, upgrade.New{"tea": 450}))
	recipetest.Curl(t, b, "upgrade", map[string]string{"OLD": before.ID(), "NEW": after.ID()})
}

// TestDollars replaces the old instance.
func TestDollars(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.AllowUnknownFields()
	before, caller := b.Connect(host), b.Connect("caller.example")
	require.NoError(t, bus.Serve(before, upgrade.Old{"tea": 450}))
	_, err := upgrade.Dollars(t.Context(), caller, "tea")
	require.ErrorContains(t, err, "wait until all of pricing.example has version 2")
	require.NoError(t, bus.Serve(b.Connect(host), upgrade.New{"tea": 450}))
	require.NoError(t, before.Close(t.Context()))
	cents, err := upgrade.Dollars(t.Context(), caller, "tea")
	require.NoError(t, err)
	assert.Equal(t, 495, cents)
}
