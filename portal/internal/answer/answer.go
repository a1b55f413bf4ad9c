// Package answer reads requests of the portal's page and answers them.
package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/outside"
)

// Margin is how much earlier than its request what it asks for ends, which leaves time to write what has come so far.
const Margin = time.Second

// InTime returns a context that ends earlier than that of a request, by [Margin].
func InTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if ends, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, ends.Add(-Margin))
	}
	return context.WithCancel(ctx)
}

// ReadJSON reads the body of a request of the page, one JSON object with these members.
func ReadJSON(r *http.Request, into any, members string) error {
	if kind := outside.MediaType(r.Header); kind != "application/json" {
		return bus.Errorf(http.StatusUnsupportedMediaType, "the content type is %.80q; send application/json", kind)
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("there is more after it")
	}
	if failed, ok := errors.AsType[*bus.Error](err); ok { // of the body, such as 413
		return failed
	}
	if err != nil {
		return bus.Errorf(http.StatusBadRequest, "the body is not one JSON object with %s: %w", members, err)
	}
	return nil
}

// WriteJSON serves a value as JSON that must not be cached: the bus changes, and each caller sees something else.
func WriteJSON(w http.ResponseWriter, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is no HTML, and would be several times as long
	if err := encoder.Encode(value); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(text.Bytes()) // the ResponseWriter of a bus handler does not fail here
	return nil
}
