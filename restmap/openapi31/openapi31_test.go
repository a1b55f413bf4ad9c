package openapi31_test

import (
	"net/url"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
)

func TestIsWanted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query  string
		is31   bool
		failed string
	}{
		{"", false, ""},
		{"x=3.1", false, ""},
		{"version=3.0", false, ""},
		{"version=3.1", true, ""},
		{"version=3.2", false, `there is no OpenAPI document of version "3.2": give it as 3.0 or 3.1`},
		{"version=3.1.0", false, `there is no OpenAPI document of version "3.1.0": give it as 3.0 or 3.1`},
		{"version=", false, `there is no OpenAPI document of version "": give it as 3.0 or 3.1`},
		{"version=3.1&version=3.1", false, "version is given 2 times: give it once, as 3.0 or 3.1"},
	} {
		query, err := url.ParseQuery(test.query)
		require.NoError(t, err)
		is31, err := openapi31.IsWanted(query)
		assert.Equal(t, test.is31, is31, test.query)
		if test.failed == "" {
			require.NoError(t, err, test.query)
		} else {
			require.EqualError(t, err, test.failed, test.query)
		}
	}
}

const services = `{"openapi":"3.0.0","info":{"title":"a.example","version":"1","x-left-out":["b is left out."]},
	"servers":[{"url":"https://api.example.com"}],"tags":[{"name":"a.example","description":"A."}],
	"paths":{"/a.example:443/items/{id}":{"post":{"tags":["a.example"],"summary":"Add","description":"Adds.",
		"operationId":"Add","security":[{"bearer":[]}],"deprecated":true,
		"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer","nullable":true}},
			{"name":"filter","in":"query","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}}],
		"requestBody":{"required":true,"content":{"multipart/form-data":{"schema":{"type":"object","properties":{
			"photo":{"type":"string","format":"binary"}}},"encoding":{"photo":{"contentType":"image/png"}}}}},
		"responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},
			"default":{"description":"Error"}}}}},
	"components":{"schemas":{"Item":{"type":"object","properties":{"name":{"type":"string","nullable":true}}},
		"Other":{"type":"object","properties":{"item":{"$ref":"#/components/schemas/Item"}}},
		"Kind":{"type":"string","enum":["a","b"]}}}}`

// published has one schema as in services, one of the same name that is another one, and one that refers to this.
const published = `{"asyncapi":"3.0.0","info":{"title":"a.example","version":"1","x-left-out":["c is left out.","b is left out."]},
	"channels":{
		"a.example/on-added":{"summary":"OnAdded","description":"Something.","tags":[{"name":"a.example","description":"A."}],
			"messages":{"OnAdded":{"name":"OnAdded","payload":{"type":"object","properties":{
				"item":{"$ref":"#/components/schemas/Item"},"kind":{"$ref":"#/components/schemas/Kind"},
				"shape":{"$ref":"#/components/schemas/Shape"}}}}}},
		"c.example/on-any":{"messages":{"m":{"name":"m"}}},
		"d.example/on-heard":{"messages":{"m":{"name":"m","payload":{"$ref":"#/components/schemas/Unused"}}}}},
	"operations":{
		"1":{"action":"send","channel":{"$ref":"#/channels/a.example~1on-added"}},
		"2":{"action":"send","channel":{"$ref":"#/channels/c.example~1on-any"}},
		"3":{"action":"receive","channel":{"$ref":"#/channels/d.example~1on-heard"}}},
	"components":{"schemas":{
		"Item":{"type":"object","properties":{"name":{"type":["string","null"]}}},
		"Kind":{"type":"string","enum":["a","c"]},
		"Shape":{"oneOf":[{"$ref":"#/components/schemas/Circle"},{"$ref":"#/components/schemas/Square"}],"discriminator":"kind"},
		"Circle":{"type":"object","properties":{"kind":{"type":"string","const":"circle"},"in":{"$ref":"#/components/schemas/Shape"}}},
		"Square":{"type":"object","properties":{"kind":{"type":"string","const":"square"},"of":{"$ref":"#/components/schemas/Kind"}}},
		"Unused":{}}}}`

func convert(t *testing.T, host string) string {
	t.Helper()
	document, err := openapi.Parse([]byte(services))
	require.NoError(t, err)
	events, err := asyncapi.Parse([]byte(published))
	require.NoError(t, err)
	before, err := document.JSON()
	require.NoError(t, err)
	text, err := openapi31.Convert(document, host, events.Events()).JSON()
	require.NoError(t, err)
	after, err := document.JSON()
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "the document of 3.0.0 stays as it is")
	parsed, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
	return string(text)
}

// TestConvert says the same as the document of 3.0.0, and has what is published as webhooks.
func TestConvert(t *testing.T) {
	t.Parallel()
	text := convert(t, "a.example")
	const added = `"tags":["a.example"],"summary":"OnAdded","description":"Something.","operationId":"a.example_on-added"`
	const responses = `"security":[],"responses":{"200":{"description":"The event was handled"},
		"default":{"description":"The event was not handled: one that is stored comes again"}}`
	assert.JSONEq(t, `{"openapi":"3.1.2","info":{"title":"a.example","version":"1","description":"Events: c is left out.",
			"x-left-out":["b is left out.","Events: c is left out."]},
		"servers":[{"url":"https://api.example.com"}],
		"tags":[{"name":"a.example","description":"A."},{"name":"c.example","description":"The events of c.example."}],
		"paths":{"/a.example:443/items/{id}":{"post":{"tags":["a.example"],"summary":"Add","description":"Adds.",
			"operationId":"Add","security":[{"bearer":[]}],"deprecated":true,
			"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":["integer","null"]}},
				{"name":"filter","in":"query","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}}],
			"requestBody":{"required":true,"content":{"multipart/form-data":{"schema":{"type":"object","properties":{
				"photo":{"type":"string","format":"binary","contentMediaType":"application/octet-stream"}}},
				"encoding":{"photo":{"contentType":"image/png"}}}}},
			"responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},
				"default":{"description":"Error"}}}}},
		"webhooks":{
			"on-added":{"post":{`+added+`,"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object",
				"properties":{"item":{"$ref":"#/components/schemas/Item"},"kind":{"$ref":"#/components/schemas/Kind_event"},
					"shape":{"$ref":"#/components/schemas/Shape"}}}}}},`+responses+`}},
			"c.example/on-any":{"post":{"tags":["c.example"],"operationId":"c.example_on-any",
				"requestBody":{"required":true,"content":{"application/json":{"schema":{}}}},`+responses+`}}},
		"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","bearerFormat":"JWT"}},"schemas":{
			"Item":{"type":"object","properties":{"name":{"type":["string","null"]}}},
			"Other":{"type":"object","properties":{"item":{"$ref":"#/components/schemas/Item"}}},
			"Kind":{"type":"string","enum":["a","b"]},
			"Kind_event":{"type":"string","enum":["a","c"]},
			"Shape":{"oneOf":[{"$ref":"#/components/schemas/Circle"},{"$ref":"#/components/schemas/Square"}],
				"discriminator":{"propertyName":"kind","mapping":{"circle":"#/components/schemas/Circle",
					"square":"#/components/schemas/Square"}}},
			"Circle":{"type":"object","properties":{"kind":{"type":"string","const":"circle"},
				"in":{"$ref":"#/components/schemas/Shape"}}},
			"Square":{"type":"object","properties":{"kind":{"type":"string","const":"square"},
				"of":{"$ref":"#/components/schemas/Kind_event"}}}}}}`, text)
	assert.Equal(t, text, convert(t, "a.example"), "the same bytes")
	assert.Contains(t, convert(t, ""), `"a.example/on-added":`, "several hosts")
}
