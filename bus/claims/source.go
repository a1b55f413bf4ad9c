package claims

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// fetchTimeout is how long a key set may take to arrive.
const fetchTimeout = 10 * time.Second

// source is where a key set is read from.
type source interface {
	// fetch returns at most maxSetBytes+1 bytes.
	fetch(ctx context.Context) ([]byte, error)
	// String names the source for a log, without what is secret in it.
	String() string
}

// newSource tells a URL from a file.
func newSource(keySet string, client *http.Client) (source, error) {
	scheme, _, found := strings.Cut(keySet, "://")
	switch {
	case keySet == "":
		return nil, errors.New("key set: missing; name a file or a URL, or do not open a verifier")
	case !found:
		return fileSource(keySet), nil
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return nil, errors.New("key set: neither http nor https; write https://host/path, or the path of a file")
	}
	address, err := url.Parse(keySet)
	if err != nil || address.Host == "" { // the error repeats the URL, password and all
		return nil, errors.New("key set: not a URL; write https://host/path, or the path of a file")
	}
	return urlSource{address, guarded(client)}, nil
}

// fileSource is the path of a file.
type fileSource string

func (s fileSource) String() string { return "file " + string(s) }

func (s fileSource) fetch(context.Context) ([]byte, error) {
	file, err := os.Open(string(s))
	if err != nil {
		return nil, err
	}
	return readSome(file)
}

// readSome reads as much as a key set may have, and a little more, and closes the reader.
func readSome(reader io.ReadCloser) ([]byte, error) {
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, maxSetBytes+1))
}

// urlSource is a URL and who fetches it.
type urlSource struct {
	url    *url.URL
	client *http.Client
}

// String leaves the query out, too: some issuers are asked with a key in it.
func (s urlSource) String() string {
	plain := *s.url
	plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = "", false, "", ""
	return plain.Redacted()
}

// unreachableError is that of a source that may well be there later.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return "cannot be reached: " + e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

func (s urlSource) fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	request.Close = true // the next one is minutes away
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, &unreachableError{withoutURL(err)}
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, &unreachableError{fmt.Errorf("status %d", response.StatusCode)}
	}
	text, err := readSome(response.Body)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return text, nil
}

// withoutURL returns the cause of an error that repeats a URL with all its secrets, be it ours or one we were redirected to.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// guarded returns a client that does not follow a redirection from https to http, unless it has a rule of its own.
func guarded(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	if client.CheckRedirect != nil {
		return client
	}
	clone := *client
	clone.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		const most = 5
		if len(via) > most {
			return errors.New("too many redirections")
		}
		if via[0].URL.Scheme == "https" && request.URL.Scheme != "https" {
			return errors.New("redirected from https to http")
		}
		return nil
	}
	return &clone
}
