package interceptors

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

const (
	keyHeader = restmap.IdempotencyKey
	// replayedHeader is in an answer that was given before.
	replayedHeader = "Idempotent-Replayed"

	// answerAge is how long answers are kept by default.
	answerAge = 24 * time.Hour

	// Pauses between two looks whether another attempt has ended.
	firstLook, longestLook = 20 * time.Millisecond, 500 * time.Millisecond
)

// IdempotentOption is an option of [Idempotent].
type IdempotentOption func(*idempotent)

// WithAnswerAge sets how long answers are kept; a key may be used for another request then. What is not above zero
// stands for the default. Default: 24 hours.
func WithAnswerAge(age time.Duration) IdempotentOption {
	return func(i *idempotent) {
		if age > 0 {
			i.age = age
		}
	}
}

// WithRequiredKey refuses requests without a key, with 400. Default: they run as ever.
func WithRequiredKey() IdempotentOption {
	return func(i *idempotent) { i.required = true }
}

// WithRunAgain runs a request again whose attempt has begun and whose instance was lost, for handlers that store the
// key, see [IdempotencyKeyOf], together with their effect, or do no harm when they run twice. Default: such a request
// is answered 409, executed yes.
func WithRunAgain() IdempotentOption {
	return func(i *idempotent) { i.runsAgain = true }
}

// Idempotent returns an interceptor for what a service serves: a request with the header Idempotency-Key runs once,
// however often it is sent, to whichever instance. A repeat gets the answer of the first attempt, errors included, with
// the header Idempotent-Replayed, as the IETF draft says:
//
//	once, err := interceptors.Idempotent(ctx, conn)
//	…
//	err = bus.Serve(conn, till, bus.Intercept(once))
//
// A repeat waits for an attempt that still runs, to the end of its time: 409. The same key with another request is 422,
// a malformed or blank one 400. A key belongs to its caller: the subject of the token, else the calling host. A handler
// runs to its deadline although its caller leaves, as a repeat may ask for its answer.
//
// What was refused before the handler has run is forgotten. An attempt whose instance is lost while the handler runs
// may have done its work or not: see [WithRunAgain]. One whose answer cannot be stored, because it is a stream, is
// larger than a message of the broker, or the broker is away, is not made again either: 409, executed yes.
//
// Answers are in the JetStream key-value bucket <plane>_IDEMPOTENT_<service>, which all instances share, with two
// writes for each request that has a key. Idempotent makes the bucket with one replica, and leaves one that is there as
// it is. As long as it cannot be reached requests with a key fail with 503, not executed. The broker has to allow
// $JS.API.STREAM.INFO, CREATE and MSG.GET of the stream KV_<bucket>, and $KV.<bucket>.>. Requests whose body is a
// stream are refused with 400 if they have a key; events pass. The interceptor is for the connections of one service,
// and safe for concurrent use.
func Idempotent(ctx context.Context, conn *bus.Conn, options ...IdempotentOption) (bus.Interceptor, error) {
	if conn == nil {
		return nil, errors.New("interceptors.Idempotent: the connection is nil: connect first, and use bus.Intercept in " +
			"bus.Serve")
	}
	i := &idempotent{age: answerAge}
	for _, option := range options {
		option(i)
	}
	i.answers = newBucket(conn, "IDEMPOTENT", "answers of "+conn.Host()+" to requests with a key", i.age)
	if _, err := i.answers.open(ctx); err != nil {
		return nil, fmt.Errorf("interceptors.Idempotent: %w", err)
	}
	return i.intercept, nil
}

// idempotent remembers the answers of a service.
type idempotent struct {
	age                 time.Duration
	required, runsAgain bool
	answers             *bucket
}

// attempt is what is stored of a request: that it runs, or how it has ended.
type attempt struct {
	Request  string    `json:"request"`           // its fingerprint
	Instance string    `json:"instance"`          // that runs it
	Until    time.Time `json:"until,omitzero"`    // when it has ended at the latest; zero once it has
	NotKept  string    `json:"notKept,omitempty"` // why the answer is not there
	Status   int       `json:"status,omitempty"`  // of the answer
	Header   []string  `json:"header,omitempty"`  // names and values, by turns
	Body     []byte    `json:"body,omitempty"`
	revision uint64    // in the bucket
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context whose calls carry an Idempotency-Key, for services with [Idempotent]; "" makes a
// new one. [Retry] and [Hedge] may then send a call again as with [WithIdempotent]: use one context for one call. A
// service that keeps no keys runs a repeated call twice, but refuses it, 501, if the method is declared
// //busline:idempotent. Generated clients of such methods make a key for each call that has none.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return bus.WithOutgoingHeader(ctx, keyHeader, cmp.Or(strings.TrimSpace(key), rand.Text()))
}

// IdempotencyKeyOf returns the key of the request that ctx serves; "" if it has none. [Idempotent] takes the field out
// of the header.
func IdempotencyKeyOf(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

func (i *idempotent) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		if _, isEvent := events.DeliveryOf(ctx); isEvent || call.Side == bus.ClientSide {
			return next(ctx, call)
		}
		header := call.Request.Header
		switch isSent := header.Has(keyHeader); {
		case !isSent && !i.required:
			return next(ctx, call)
		case !isSent:
			return bus.Errorf(http.StatusBadRequest, "the request needs an %s, such as a UUID, with which it may be repeated",
				keyHeader)
		case call.Request.Stream != nil:
			return bus.Errorf(http.StatusBadRequest, "a request whose body is a stream cannot be repeated by its %s: "+
				"leave it out", keyHeader)
		}
		others := header.Without(keyHeader) // a copy, as the caller's is shared
		if count := len(header) - len(others); count > 1 {
			return bus.Errorf(http.StatusBadRequest, "the request has %d fields %s: send one", count, keyHeader)
		}
		key, err := parseKey(header.Get(keyHeader))
		if err != nil {
			return err
		}
		ctx = context.WithValue(ctx, idempotencyKey{}, key)
		call.Request.Header = others
		at := strings.Join([]string{callerOf(ctx, call), call.Method, call.Path, key}, "\n")
		return i.once(ctx, call, next, bucketKey(at))
	}
}

// parseKey returns a key, which is a string in quotes, or without.
func parseKey(sent string) (string, error) {
	key := sent
	if unquoted, isQuoted := strings.CutPrefix(sent, `"`); isQuoted {
		key = strings.TrimSuffix(unquoted, `"`)
	}
	isForeign := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }
	if key == "" || len(key) > restmap.LongestIdempotencyKey || strings.ContainsFunc(key, isForeign) {
		return "", bus.Errorf(http.StatusBadRequest, "%s: %.80q is no key: send 1 to %d letters, digits and signs, "+
			"such as a UUID", keyHeader, sent, restmap.LongestIdempotencyKey)
	}
	return key, nil
}

// callerOf names whose key it is.
func callerOf(ctx context.Context, call *bus.Exchange) string {
	if verified, ok := bus.ClaimsOf(ctx); ok {
		if subject, _ := verified["sub"].(string); subject != "" {
			issuer, _ := verified["iss"].(string)
			return "sub " + subject + " of " + issuer
		}
	}
	return "host " + call.Request.FromHost
}

// fingerprint returns what tells two requests apart.
func fingerprint(call *bus.Exchange) string {
	hash := sha256.New()
	for _, part := range []string{call.Method, call.Request.Target, call.Request.Header.Get("Content-Type")} {
		fmt.Fprintf(hash, "%d %s", len(part), part)
	}
	hash.Write(call.Request.Body)
	return hex.EncodeToString(hash.Sum(nil))
}

// once runs a request, or answers as the attempt before.
func (i *idempotent) once(ctx context.Context, call *bus.Exchange, next bus.CallFunc, at string) error {
	_, id := call.Local()
	mine := &attempt{Request: fingerprint(call), Instance: id}
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		mine.Until = endOf(ctx, call)
		before, err := i.begin(ctx, at, mine)
		switch {
		case err != nil:
			return bus.Errorf(http.StatusServiceUnavailable, "cannot tell whether the request was sent before: %w", err)
		case before == nil:
			return i.run(ctx, call, next, at, mine)
		case before.Request != mine.Request:
			return bus.Errorf(http.StatusUnprocessableEntity, "the %s was used for another request: choose another one",
				keyHeader)
		case before.Until.IsZero() && before.NotKept == "":
			call.Response = before.answer()
			return nil
		case before.Until.IsZero():
			return hasBegun(call, "the request has run, and its answer is not there: "+before.NotKept)
		case time.Now().After(before.Until):
			return hasBegun(call, "an attempt with this key has begun at instance "+before.Instance+
				", which has not said how it ended")
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || time.Until(mine.Until) < wait {
			return hasBegun(call, "a request with this key still runs: ask again later")
		}
	}
}

// hasBegun answers that the request has begun, and not how it ended. An error would say that it has not.
func hasBegun(call *bus.Exchange, detail string) error {
	call.Response = problemOf(call, &bus.Error{Status: http.StatusConflict, Executed: bus.ExecutedYes, Detail: detail})
	return nil
}

// endOf returns when a request has to have ended.
func endOf(ctx context.Context, call *bus.Exchange) time.Time {
	if end, ok := ctx.Deadline(); ok {
		return end
	}
	return time.Now().Add(wire.DefaultTimeBudget - call.Elapsed())
}

// begin notes that a request runs, or returns the attempt before.
func (i *idempotent) begin(ctx context.Context, at string, mine *attempt) (before *attempt, err error) {
	text, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	err = i.answers.use(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		for {
			mine.revision, err = kv.Create(ctx, at, text)
			if !errors.Is(err, jetstream.ErrKeyExists) {
				return err
			}
			entry, err := kv.Get(ctx, at)
			if errors.Is(err, jetstream.ErrKeyNotFound) {
				continue // it was forgotten meanwhile
			}
			if err != nil {
				return err
			}
			before = new(attempt)
			if err := json.Unmarshal(entry.Value(), before); err != nil {
				return fmt.Errorf("the entry %s is none of this package: %w", at, err)
			}
			if !i.mayTakeOver(before, mine) {
				return nil
			}
			mine.revision, err = kv.Update(ctx, at, text, entry.Revision())
			if before = nil; !errors.Is(err, jetstream.ErrKeyExists) {
				return err
			}
		}
	})
	return before, err
}

// mayTakeOver reports whether an attempt was lost, and may be made again.
func (i *idempotent) mayTakeOver(before, mine *attempt) bool {
	return i.runsAgain && before.Request == mine.Request && !before.Until.IsZero() && time.Now().After(before.Until)
}

// run runs a request, and stores how it ends.
func (i *idempotent) run(ctx context.Context, call *bus.Exchange, next bus.CallFunc, at string,
	mine *attempt) (err error) {
	detached, cancel := context.WithDeadline(context.WithoutCancel(ctx), mine.Until)
	defer cancel()
	hasReturned := false
	defer func() {
		if !hasReturned { // it panics: how far it has come is unknown
			mine.NotKept, mine.Until = "the handler has panicked", time.Time{}
			i.store(ctx, at, mine)
		}
	}()
	err = next(detached, call)
	hasReturned = true
	failed := call.Failure(err)
	if failed != nil && failed.Executed == bus.ExecutedNo {
		i.forget(ctx, at, mine)
		return err
	}
	mine.keep(call, failed)
	i.store(ctx, at, mine)
	return err
}

// keep notes the answer of a request.
func (a *attempt) keep(call *bus.Exchange, failed *bus.Error) {
	a.Until = time.Time{}
	response := call.Response
	if failed != nil && (response == nil || response.Status < http.StatusBadRequest) {
		response = problemOf(call, failed)
	}
	switch {
	case failed != nil && errors.Is(failed, bus.ErrCallerLeft):
		a.NotKept = "it was a stream, and its caller has left"
	case response == nil:
		a.Status = http.StatusNoContent
	case response.Stream != nil:
		a.NotKept = "it was a stream"
	default:
		a.Status, a.Body = response.Status, response.Body
		for _, field := range response.Header {
			a.Header = append(a.Header, field.Name, field.Value)
		}
	}
}

// answer returns the answer that is kept.
func (a *attempt) answer() *wire.Response {
	response := &wire.Response{Status: a.Status, Body: a.Body}
	for at := 0; at+1 < len(a.Header); at += 2 {
		response.Header.Add(a.Header[at], a.Header[at+1])
	}
	response.Header.Add(replayedHeader, "true")
	return response
}

// problemOf returns an error as a response.
func problemOf(call *bus.Exchange, failed *bus.Error) *wire.Response {
	written := problemWriter{header: make(http.Header)}
	bus.WriteError(&written, &http.Request{Method: call.Method, URL: &url.URL{Path: call.Path}}, failed)
	response := &wire.Response{Status: failed.Status, Body: written.Bytes()}
	for name := range written.header {
		response.Header.Add(name, written.header.Get(name))
	}
	return response
}

// problemWriter keeps the body of a response.
type problemWriter struct {
	bytes.Buffer

	header http.Header
}

func (p *problemWriter) Header() http.Header { return p.header }
func (*problemWriter) WriteHeader(int)       {}

// store stores how an attempt has ended. Its time may be over.
func (i *idempotent) store(ctx context.Context, at string, mine *attempt) {
	text, err := json.Marshal(mine)
	if limit := int(i.answers.conn.NATS().MaxPayload()); err == nil && limit > 0 && len(text) > limit {
		mine.NotKept, mine.Body, mine.Header = fmt.Sprintf("it has %d bytes", len(mine.Body)), nil, nil
		text, err = json.Marshal(mine)
	}
	if err == nil {
		err = i.answers.use(context.WithoutCancel(ctx), func(ctx context.Context, kv jetstream.KeyValue) error {
			_, err := kv.Update(ctx, at, text, mine.revision)
			return err
		})
	}
	if err != nil {
		bus.Logger(ctx).Warn().Err(err).Str("bucket", i.answers.name).
			Msg("the answer to a request with a key cannot be stored; if it comes again, it is answered 409")
	}
}

// forget lets a request run again that has not run.
func (i *idempotent) forget(ctx context.Context, at string, mine *attempt) {
	err := i.answers.use(context.WithoutCancel(ctx), func(ctx context.Context, kv jetstream.KeyValue) error {
		return kv.Delete(ctx, at, jetstream.LastRevision(mine.revision))
	})
	if err != nil {
		bus.Logger(ctx).Warn().Err(err).Str("bucket", i.answers.name).
			Msg("a request with a key that has not run cannot be forgotten; if it comes again, it is answered 409")
	}
}
