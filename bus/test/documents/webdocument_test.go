package documents_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

func TestDocument_WebEndpointDescribesItself(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	conn := w.Connect("web.example")
	require.NoError(t, conn.Handle("*", "/notes", http.NotFoundHandler(), bus.ListedMethods("GET", "POST"),
		bus.QueryParam("topic", "of the notes", true), bus.Consumes("text/plain"),
		bus.Produces("text/plain", "application/json")))
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
	conn := kit.NewBus(t).Connect("web.example")
	one := func(option bus.HandleOption) []bus.HandleOption { return []bus.HandleOption{option} }
	for _, test := range []struct {
		name, method string
		options      []bus.HandleOption
		want         string
	}{
		{"listed methods beside one", "GET", one(bus.ListedMethods("GET")),
			"bus.ListedMethods is for endpoints that take any method, and this one takes GET: leave it out"},
		{"no method", "*", one(bus.ListedMethods("get")),
			`bus.ListedMethods: "get" is not an HTTP method that OpenAPI lists, or is given twice`},
		{"no name", "*", one(bus.QueryParam("", "", false)), `bus.QueryParam(""): the name is empty, or given twice`},
		{"a field twice", "POST", []bus.HandleOption{bus.FormField("title", "string", ""),
			bus.FormField("title", "file", "")}, `form field "title": it is declared twice: leave one`},
		{"a type that is none", "POST", one(bus.FormField("title", "strin", "")),
			`form field "title": the type "strin" is none of string, integer, number, boolean, file and media types of a file such as image/png,image/jpeg; did you mean string?`},
		{"a bad keyword", "POST", one(bus.FormField("title", "string", "minimum=1")), `form field "title": `},
		{"a keyword for a file", "POST", one(bus.FormField("photo", "image/png", "maxLength=3 photo")),
			`form field "photo": maxLength=3 is not for files`},
		{"a field without a name", "POST", one(bus.FormField("a b", "string", "")), `form field "a b": a name has no spaces`},
		{"a form under GET", "GET", one(bus.FormField("photo", "file", "")),
			`form field "photo": requests of the method GET have no body: use POST, or bus.QueryParam`},
		{"a form listed under GET", "*", []bus.HandleOption{bus.FormField("photo", "file", ""),
			bus.ListedMethods("GET", "DELETE")}, "requests of the method GET, DELETE have no body"},
		{"a form twice", "POST", []bus.HandleOption{bus.FormField("photo", "file", ""), bus.Consumes("multipart/form-data")},
			"leave the form out of bus.Consumes"},
		{"no media type", "*", one(bus.Produces("text")), `"text" is not a media type such as text/plain`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, conn.Handle(test.method, "/notes", http.NotFoundHandler(), test.options...), test.want)
		})
	}
	err := bus.Serve(conn, kit.Calculator{}, bus.Method("Add", bus.Produces("text/plain")))
	require.ErrorContains(t, err, "describe web endpoints: leave them out")
	err = bus.Serve(conn, kit.Calculator{}, bus.Method("Add", bus.FormField("x", "string", "")))
	require.ErrorContains(t, err, "describe web endpoints: leave them out")
}

func TestDocument_Form(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	conn := w.Connect("web.example")
	require.NoError(t, conn.Handle("*", "/upload", http.NotFoundHandler(),
		bus.FormField("title", "string", "required maxLength=80 title of the page"),
		bus.FormField("tags", "[]string", ""), bus.FormField("pages", "integer", "minimum=1 optional how many"),
		bus.FormField("photo", "image/png,image/jpeg", "required the photo"),
		bus.FormField("more", "[]file", "other files"), bus.Consumes("text/csv")))
	require.NoError(t, conn.Handle("PUT", "/text", http.NotFoundHandler(), bus.FormField("title", "string", "")))
	document := loadDocument(t, conn, "https://web.example/openapi.json")

	upload := document.Paths.Value("/web.example:443/upload")
	require.NotNil(t, upload.Post)
	require.Len(t, upload.Operations(), 1)
	content := upload.Post.RequestBody.Value.Content
	require.Len(t, content, 2)
	form := content["multipart/form-data"]
	text, err := json.Marshal(form)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"encoding": {"photo": {"contentType": "image/png, image/jpeg"}},
		"schema": {"type": "object", "required": ["title", "photo"], "properties": {
			"title": {"type": "string", "maxLength": 80, "description": "title of the page"},
			"tags": {"type": "array", "items": {"type": "string"}},
			"pages": {"type": "integer", "format": "int64", "minimum": 1, "description": "how many"},
			"photo": {"type": "string", "format": "binary", "description": "the photo"},
			"more": {"type": "array", "items": {"type": "string", "format": "binary"}, "description": "other files"}}}}`, string(text))
	put := document.Paths.Value("/web.example:443/text").Put
	assert.Contains(t, put.RequestBody.Value.Content, "application/x-www-form-urlencoded")
}

// photoPages reads forms that its comments declare.
type photoPages interface {
	Upload(w http.ResponseWriter, r *http.Request)
}

var _ = reflectapi.Register[photoPages](`
type photoPages interface {
	//busline:route POST /upload
	//busline:field title string required title of the page
	//busline:field photo image/png
	Upload(w http.ResponseWriter, r *http.Request)
}
`)

type anyPhotoPages struct{}

func (anyPhotoPages) Upload(http.ResponseWriter, *http.Request) {}

func TestDocument_FormOfDirectives(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	conn := w.Connect("pages.example")
	err := bus.Serve[photoPages](conn, anyPhotoPages{}, bus.Method("Upload", bus.FormField("photo", "file", "")))
	require.ErrorContains(t, err, `form field "photo": it is declared twice`)
	require.NoError(t, bus.Serve[photoPages](conn, anyPhotoPages{},
		bus.Method("Upload", bus.FormField("more", "[]file", ""))))
	document := loadDocument(t, conn, "https://pages.example/openapi.json")
	form := document.Paths.Value("/pages.example:443/upload").Post.RequestBody.Value.Content["multipart/form-data"]
	require.NotNil(t, form)
	assert.Len(t, form.Schema.Value.Properties, 3)
	assert.Equal(t, []string{"title"}, form.Schema.Value.Required)
	assert.Equal(t, "image/png", form.Encoding["photo"].ContentType)
}
