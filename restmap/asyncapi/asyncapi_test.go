package asyncapi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/asyncapi"
)

type node struct {
	Name string  `json:"name" jsonschema:"example=a"`
	Next *node   `json:"next"`
	Kind *string `json:"kind" jsonschema:"enum=x,enum=y"`
}

type treeEvents struct{}

// OnGrown tells of a tree.
func (treeEvents) OnGrown(root node, height float64, tags []string) error { return nil }

func (treeEvents) OnFelled() error { return nil }

type seed struct {
	Kind string `json:"kind" jsonschema:"minLength=1"`
}

// OnSown has an argument that cannot be left out, and one that can.
func (treeEvents) OnSown(what seed, by string) error { return nil }

func endpoints(t *testing.T) map[string]*restmap.Endpoint {
	t.Helper()
	service, err := reflectapi.Describe(treeEvents{})
	require.NoError(t, err)
	mapped, err := restmap.Map(service, restmap.Options{PostOnly: true})
	require.NoError(t, err)
	all := make(map[string]*restmap.Endpoint)
	for _, each := range mapped {
		all[each.Name] = each
	}
	return all
}

func text(t *testing.T, d *asyncapi.Document) string {
	t.Helper()
	data, err := d.JSON()
	require.NoError(t, err)
	return string(data)
}

// TestBuild_SamePath keeps events of two publishers apart, and a channel is what the host publishes.
func TestBuild_SamePath(t *testing.T) {
	t.Parallel()
	known := endpoints(t)
	event := func(action asyncapi.Action, publisher string, endpoint *restmap.Endpoint) *asyncapi.Event {
		return &asyncapi.Event{Action: action, Publisher: publisher, Name: "on-grown", Endpoint: endpoint,
			Address: string(action) + "." + publisher}
	}
	d, err := asyncapi.Build(asyncapi.Service{Host: "a.example", Events: []*asyncapi.Event{
		event(asyncapi.Receive, "a.example", known["OnGrown"]), event(asyncapi.Send, "a.example", known["OnGrown"]),
		event(asyncapi.Send, "b.example", nil), event(asyncapi.Receive, "b.example", known["OnGrown"]),
	}})
	require.NoError(t, err)
	assert.Len(t, d.Operations, 4)
	assert.Equal(t, "send.a.example", d.Channels["a.example/on-grown"].Address)
	assert.Equal(t, "receive.b.example", d.Channels["b.example/on-grown"].Address,
		"the subscriber alone knows the arguments")
	assert.Equal(t, "#/components/schemas/OnGrown_in", d.Channels["a.example/on-grown"].Messages["OnGrown"].Payload.Ref)
	assert.Equal(t, "#/components/schemas/OnGrown2_in", d.Channels["b.example/on-grown"].Messages["OnGrown2"].Payload.Ref)
	parsed, err := asyncapi.Parse([]byte(text(t, d)))
	require.NoError(t, err)
	assert.Equal(t, text(t, d), text(t, parsed))
}

// TestBuild_Schemas writes schemas in Draft 07.
func TestBuild_Schemas(t *testing.T) {
	t.Parallel()
	known := endpoints(t)
	d, err := asyncapi.Build(asyncapi.Service{Host: "a.example", Events: []*asyncapi.Event{
		{Action: asyncapi.Send, Publisher: "a.example", Name: "on-grown", Endpoint: known["OnGrown"]},
		{Action: asyncapi.Send, Publisher: "a.example", Name: "on-felled", Endpoint: known["OnFelled"]},
		{Action: asyncapi.Send, Publisher: "a.example", Name: "on-sown", Endpoint: known["OnSown"]},
	}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"schemas":{
		"OnFelled_in":{"type":"object"},
		"OnGrown_in":{"type":"object","properties":{
			"height":{"type":"number","format":"double"},
			"root":{"$ref":"#/components/schemas/node"},
			"tags":{"type":"array","items":{"type":"string"}}}},
		"OnSown_in":{"type":"object","required":["what"],"properties":{
			"what":{"$ref":"#/components/schemas/seed"},
			"by":{"type":"string"}}},
		"seed":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string","minLength":1}}},
		"node":{"type":"object","properties":{
			"name":{"type":"string","examples":["a"]},
			"kind":{"type":["string","null"],"enum":["x","y",null]},
			"next":{"anyOf":[{"$ref":"#/components/schemas/node"},{"type":"null"}]}}}
	}}`, toJSON(t, d.Components))
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	const head = `{"asyncapi":"3.0.0","info":{"title":"a","version":"0"},`
	const channels = `"channels":{"a/b":{"messages":{"m":{"name":"m"}}}},`
	for _, test := range []struct{ name, document, want string }{
		{"no JSON", "x", "AsyncAPI document: "},
		{"another version", `{"asyncapi":"2.6.0"}`, "AsyncAPI document: its version is not 3.0"},
		{"no title", `{"asyncapi":"3.0.0"}`, "AsyncAPI document: it has no title or no version"},
		{"channel", head + `"channels":{"a":null}}`,
			`AsyncAPI document: channel "a": is not named like orders.example/on-ordered`},
		{"no messages", head + `"channels":{"a/b":{}}}`, `AsyncAPI document: channel "a/b": has no messages`},
		{"null message", head + `"channels":{"a/b":{"messages":{"m":null}}}}`,
			`AsyncAPI document: channel "a/b": message "m" is null`},
		{"null parameter", head + `"channels":{"a/b":{"messages":{"m":{}},"parameters":{"p":null}}}}`,
			`AsyncAPI document: channel "a/b": parameter "p" is null`},
		{"null operation", head + channels + `"operations":{"o":null}}`, `AsyncAPI document: operation "o": is null`},
		{"action", head + channels + `"operations":{"o":{"action":"reply"}}}`,
			`AsyncAPI document: operation "o": its action "reply" is neither send nor receive`},
		{"no channel", head + channels + `"operations":{"o":{"action":"send","channel":{"$ref":"#/channels/a~1c"}}}}`,
			`AsyncAPI document: operation "o": there is no channel "#/channels/a~1c"`},
		{"null schema", head + `"components":{"schemas":{"s":null}}}`, `AsyncAPI document: schema "s": is null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := asyncapi.Parse([]byte(test.document))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestMerge takes a channel from its publisher, keeps schemas of hosts apart, and believes no member about another
// host.
func TestMerge(t *testing.T) {
	t.Parallel()
	const schemas = `"components":{"schemas":{"In":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/In"},"not":{"$ref":"elsewhere.json"}}},"Unused":{}}}`
	document := func(host, address, action string) asyncapi.Member {
		d, err := asyncapi.Parse([]byte(`{"asyncapi":"3.0.0","info":{"title":"` + host +
			`","version":"1"},"servers":{"nats":{"host":"h","protocol":"nats"}},
			"channels":{"b/on-x":{"address":"` + address + `","messages":{"m` + host + `":{"name":"m","payload":{"$ref":"#/components/schemas/In"}}}},"b/on-y":{"messages":{"m":{}}}},
			"operations":{"any":{"action":"` + action + `","channel":{"$ref":"#/channels/b~1on-x"},"x-service":"z","x-claims":"secret"}},` + schemas + `}`))
		require.NoError(t, err)
		return asyncapi.Member{Host: host, Document: d}
	}
	all := asyncapi.Merge(asyncapi.Info{Title: "all", LeftOut: []string{"d is left out."}}, []asyncapi.Member{
		document("c", "of c", "receive"), document("b", "of b", "send"), document("a", "of a", "send"),
	})
	assert.JSONEq(t,
		`{"asyncapi":"3.0.0","info":{"title":"all","version":"0","description":"The events that the caller may see.","x-left-out":["d is left out."]},
		"defaultContentType":"application/json",
		"channels":{"b/on-x":{"address":"of b","messages":{"mb":{"name":"m","payload":{"$ref":"#/components/schemas/b_In"}}},"x-durable":false}},
		"operations":{
			"a_send_b_on-x":{"action":"send","summary":"a publishes on-x of b","channel":{"$ref":"#/channels/b~1on-x"},"messages":[{"$ref":"#/channels/b~1on-x/messages/mb"}],"x-service":"a","x-durable":false},
			"b_send_b_on-x":{"action":"send","summary":"b publishes on-x","channel":{"$ref":"#/channels/b~1on-x"},"messages":[{"$ref":"#/channels/b~1on-x/messages/mb"}],"x-service":"b","x-durable":false},
			"c_receive_b_on-x":{"action":"receive","summary":"c subscribes to on-x of b","channel":{"$ref":"#/channels/b~1on-x"},"messages":[{"$ref":"#/channels/b~1on-x/messages/mb"}],"x-service":"c","x-durable":false}},
		"components":{"schemas":{"b_In":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/b_In"},"not":{}}}}}}`, text(t, all))
	foreign := asyncapi.Merge(asyncapi.Info{Title: "all"},
		[]asyncapi.Member{document("c", "of c", "receive"), document("a", "of a", "send")})
	assert.Equal(t, "of a", foreign.Channels["b/on-x"].Address, "what is published counts before what is subscribed to")
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
