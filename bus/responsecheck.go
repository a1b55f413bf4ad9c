package bus

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// checkResponse passes a response to the broker of a test. Results that were copied have been passed before.
func (in *serverCall) checkResponse(response *wire.Response) {
	if in.conn.config.checkResponse != nil && response.Stream == nil && !in.given.answeredBy(response) {
		in.check(response.Status, response.Header.Get("Content-Type"), response.Body)
	}
}

// checkResults passes results that were copied to the broker of a test, as the text that they would be.
func (in *serverCall) checkResults(results reflect.Value) {
	if encoded, err := in.endpoint().mapped.Encode(results); err == nil {
		in.check(in.given.filled.Status, encoded.ContentType, encoded.Body)
	}
}

func (in *serverCall) check(status int, contentType string, body []byte) {
	c, e := in.conn, in.endpoint()
	if e.hidden || e.source != "" || e.mapped.Style == restmap.Web || e.Port == subject.ControlPort || !openapi.Lists(e.mapped.ClientRoute().Method) {
		return // no document shows it
	}
	if e.mapped.Element() != nil && status == http.StatusNoContent {
		return // the answer to a browser that has the end of the stream
	}
	c.config.checkResponse(&testbroker.Response{
		Endpoint: fmt.Sprintf("%s (%s on %s)", e.Name, e.mapped.ClientRoute(), c.host), Key: e,
		Document: func() ([]byte, error) {
			document, err := openapi.Build(openapi.Service{Host: c.host, Port: e.Port, Endpoints: []*openapi.EndpointDoc{{Endpoint: e.mapped}}})
			if err != nil {
				return nil, err
			}
			return document.JSON()
		},
		Status: status, ContentType: contentType, Body: body,
	})
}
