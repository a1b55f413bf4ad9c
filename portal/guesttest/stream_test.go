package guesttest_test

import (
	"bufio"
	"context"
	"net/http"
	"testing"
)

// stepwise is what handlers of these tests wait for between two pieces of a stream: a request to /next, which their
// client sends when it has the first. Only then may the second come.
type stepwise chan struct{}

// next lets a handler go on.
func (s stepwise) next(w http.ResponseWriter, r *http.Request) {
	select {
	case s <- struct{}{}:
	case <-r.Context().Done():
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// wait waits for the client; it returns false if that has gone.
func (s stepwise) wait(ctx context.Context) bool {
	select {
	case <-s:
		return true
	case <-ctx.Done():
		return false
	}
}

// piecewise reads a stream line by line, and lets its handler go on after the first line that is last.
func piecewise(path, last string) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		response, err := w.send(ctx, nil, "GET "+path)
		if err != nil {
			return []string{failure(err)}
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode >= http.StatusInternalServerError {
			return w.describe(response)
		}
		var lines []string
		released := false
		for scanner := bufio.NewScanner(response.Body); ; {
			if !scanner.Scan() {
				if scanner.Err() != nil {
					lines = append(lines, failure(scanner.Err()))
				}
				break
			}
			if lines = append(lines, scanner.Text()); scanner.Text() == last && !released {
				released = true
				answer, err := w.send(ctx, nil, "POST /next")
				if err != nil {
					return append(lines, failure(err))
				}
				_ = answer.Body.Close()
			}
		}
		return append(lines, w.describe(response)...)
	}
}
