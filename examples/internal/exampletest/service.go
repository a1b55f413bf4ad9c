package exampletest

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Service is a service as its callers see it.
type Service struct {
	t      *testing.T
	client *http.Client
	url    string
	place  string // the base URL of its document, and what all paths there start with
	routes routers.Router
	newer  *newerDocument // nil for a service that writes its own document
}

// Open reads the OpenAPI documents of a service, 3.0.0 and 3.1, and fails the test unless a strict validator likes
// them. The URL is that of the service on the bus, "https://calculator.example", or behind an ingress,
// "http://127.0.0.1:8080/calculator.example".
func Open(t *testing.T, way http.RoundTripper, url string) *Service {
	t.Helper()
	s := &Service{t: t, client: &http.Client{Transport: way}, url: url}
	_, document := s.Send("GET", "/openapi.json", "")
	parsed := Valid(t, document)
	var err error
	if s.routes, err = legacy.NewRouter(parsed); err != nil {
		t.Fatal(err)
	}
	if _, newer := s.Send("GET", "/openapi.json?version=3.1", ""); newer != document {
		s.newer = openNewer(t, newer)
	}
	s.place = parsed.Servers[0].URL + "/" + path.Base(url) + ":443"
	return s
}

// Valid returns an OpenAPI document, and fails the test unless a strict validator likes it.
func Valid(t *testing.T, document string) *openapi3.T {
	t.Helper()
	parsed, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err == nil {
		err = parsed.Validate(t.Context())
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return parsed
}

// Send makes a request and returns the response with its body. A body is sent as JSON.
func (s *Service) Send(method, target, body string) (*http.Response, string) {
	s.t.Helper()
	request := s.request(method, s.url+target, body)
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	return response, string(answer)
}

func (s *Service) request(method, url, body string) *http.Request {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}

// Check makes a request, "POST /add", that the document describes. It fails the test unless the response has the status
// and the body that are expected, or for an error a part of its detail; and unless request and response are as the
// document says: a request that is refused need not be.
func (s *Service) Check(operation, body string, status int, answer string) {
	s.t.Helper()
	method, target, _ := strings.Cut(operation, " ")
	response, got := s.Send(method, target, body)
	if response.StatusCode != status || !matches(got, status, answer) {
		s.t.Errorf("%s %s\nanswered %d %s\nexpected %d %s", operation, body, response.StatusCode, got, status, answer)
	}
	if err := s.fits(s.request(method, s.place+target, body), response, got); err != nil {
		s.t.Errorf("%s %s\nanswered %d %s\nwhich is not as the document says: %v", operation, body,
			response.StatusCode, got, err)
	}
}

func matches(got string, status int, want string) bool {
	if status < http.StatusBadRequest {
		return got == want
	}
	var problem struct{ Detail string }
	return json.Unmarshal([]byte(got), &problem) == nil && strings.Contains(problem.Detail, want)
}

// fits holds a request, addressed as the document does, and its response to the document.
func (s *Service) fits(request *http.Request, response *http.Response, body string) error {
	route, values, err := s.routes.FindRoute(request)
	if err != nil {
		return err
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: values, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}, // the way has the token
	}
	if response.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(s.t.Context(), input); err != nil {
			return err
		}
	}
	if s.newer != nil {
		if err := s.newer.fits(route.Path, route.Method, response, body); err != nil {
			return err
		}
	}
	return openapi3filter.ValidateResponse(s.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input,
		Status:                 response.StatusCode,
		Header:                 response.Header,
		Body:                   io.NopCloser(strings.NewReader(body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
}
