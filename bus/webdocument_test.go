package bus_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

func TestDocument_WebEndpointDescribesItself(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	conn := w.connect("web.example")
	require.NoError(t, conn.Handle("*", "/notes", http.NotFoundHandler(), bus.ListedMethods("GET", "POST"),
		bus.QueryParam("topic", "of the notes", true), bus.Consumes("text/plain"), bus.Produces("text/plain", "application/json")))
	require.NoError(t, conn.Handle("*", "/any", http.NotFoundHandler()))
	document := loadDocument(t, conn, "https://web.example/openapi.json")

	notes := document.Paths.Value("/web.example:443/notes")
	require.NotNil(t, notes)
	require.Len(t, notes.Operations(), 2)
	assert.NotEqual(t, notes.Get.OperationID, notes.Post.OperationID)
	topic := notes.Get.Parameters.GetByInAndName("query", "topic")
	require.NotNil(t, topic)
	assert.True(t, topic.Required)
	assert.Equal(t, "of the notes", topic.Description)
	assert.Nil(t, notes.Get.RequestBody)
	assert.Contains(t, notes.Post.RequestBody.Value.Content, "text/plain")
	assert.Len(t, notes.Get.Responses.Value("200").Value.Content, 2)
	assert.Contains(t, notes.Get.Responses.Default().Value.Content, "application/problem+json")
	require.NotNil(t, document.Paths.Value("/web.example:443/any").Get)
	assert.Len(t, document.Paths.Value("/web.example:443/any").Operations(), 1)
}

func TestHandle_WebDescriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("web.example")
	for _, test := range []struct {
		name, method string
		option       bus.HandleOption
		want         string
	}{
		{"listed methods beside one", "GET", bus.ListedMethods("GET"), "bus.ListedMethods is for endpoints that take any method, and this one takes GET: leave it out"},
		{"no method", "*", bus.ListedMethods("get"), `bus.ListedMethods: "get" is not an HTTP method that OpenAPI lists, or is given twice`},
		{"no name", "*", bus.QueryParam("", "", false), `bus.QueryParam(""): the name is empty, or given twice`},
		{"no media type", "*", bus.Produces("text"), `"text" is not a media type such as text/plain`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, conn.Handle(test.method, "/notes", http.NotFoundHandler(), test.option), test.want)
		})
	}
	err := bus.Serve(conn, calculator{}, bus.Method("Add", bus.Produces("text/plain")))
	require.ErrorContains(t, err, "describe web endpoints: leave them out")
}
