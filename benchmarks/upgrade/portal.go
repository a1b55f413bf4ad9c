package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/upgrade/check"
)

// patience is how long the portal may take to list a service, and the ingress to answer.
const patience = 30 * time.Second

const (
	middle = 3 << 20 // bytes of a body in parts
)

// portalView is what HTTP shows of a service.
type portalView struct {
	base, service string
	until         time.Time
}

// views are the columns of the table of portals.
func views() []string {
	return []string{"listed", "document", "call", "body up", "unknown length up", "body down", "error"}
}

func (v portalView) outcomes() map[string]string {
	all := make(map[string]string)
	for _, name := range views() {
		err := v.look(name)
		if all[name] = check.OK; err != nil {
			all[name] = strings.ReplaceAll(err.Error(), "\n", " ")
		}
	}
	return all
}

func (v portalView) look(name string) error {
	switch service := "/" + v.service; name {
	case "listed":
		return v.shows("/portal/instances.json", `"`+v.service+`"`)
	case "document":
		return v.shows("/portal/openapi.json", `"/`+v.service+`:443/add"`)
	case "call":
		return v.answers(service+"/add?x=2&y=3", nil, `{"sum":5}`)
	case "body up":
		return v.answers(service+"/digest", sized{check.Body(middle)}, check.WantDigest(middle))
	case "unknown length up":
		return v.answers(service+"/digest", check.Body(middle), check.WantDigest(middle))
	case "body down":
		response, err := v.do(http.MethodGet, fmt.Sprintf("%s/bytes?size=%d&flushed=yes", service, middle), nil)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		got, err := check.Digest(response.Body)
		if err != nil {
			return err
		}
		return check.Want("the body", check.WantDigest(middle), got)
	default:
		_, err := v.do(http.MethodPost, service+"/fail", nil)
		return check.Want("the error", check.Refused+"409, executed yes: no room for it", fmt.Sprint(err))
	}
}

// sized is a body of which Content-Length says how long it is.
type sized struct{ io.Reader }

// do makes a request, and returns an error in place of a response that is none of success.
func (v portalView) do(method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequest(method, v.base+path, body) //nolint:noctx // the client has a time limit
	if err != nil {
		return nil, err
	}
	if _, known := body.(sized); known {
		request.ContentLength = middle
	}
	client := http.Client{Timeout: patience}
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, check.Refusal(response)
	}
	return response, err
}

func (v portalView) text(method, path string, body io.Reader) (string, error) {
	response, err := v.do(method, path, body)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// answers checks the answer to a request.
func (v portalView) answers(path string, body io.Reader, expected string) error {
	got, err := v.text(http.MethodPost, path, body)
	if err != nil {
		return err
	}
	return check.Want("the answer", expected, got)
}

// shows waits until a document of the portal has a text.
func (v portalView) shows(path, part string) error {
	for {
		got, err := v.text(http.MethodGet, path, nil)
		if err == nil && strings.Contains(got, part) {
			return nil
		}
		if time.Now().After(v.until) {
			return fmt.Errorf("wrong: no %s in %s of %d bytes: %w", part, path, len(got), err)
		}
		time.Sleep(100 * time.Millisecond) // the portal collects once a second at most
	}
}
