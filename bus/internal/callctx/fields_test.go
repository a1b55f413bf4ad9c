package callctx_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/wire"
)

// fields returns a header from names and values in turn.
func fields(pairs ...string) (header wire.Header) {
	for pair := range slices.Chunk(pairs, 2) {
		header.Add(pair[0], pair[1])
	}
	return header
}

func checkHeader(t *testing.T, got, want wire.Header) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the header is %q, want %q", got, want)
	}
}

// TestInherit_Outside holds that the first call of a chain inherits nothing.
func TestInherit_Outside(t *testing.T) {
	t.Parallel()
	call := wire.Request{Header: fields("X-Own", "1")}
	callctx.Inherit(t.Context(), &call, nil)
	if call.CallDepth != 1 {
		t.Errorf("the depth is %d, want 1", call.CallDepth)
	}
	checkHeader(t, call.Header, fields("X-Own", "1"))
}

// TestInherit_Forwarded holds which fields of the request a call in the handler has, and in which order.
func TestInherit_Forwarded(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	h.Request.CallDepth = 4
	h.Request.Header = fields(
		"Authorization", "secret", "X-Other", "1", "x-forwarded-for", "a", "X-Forwarded-For", "b", "Accept-Language", "de",
		"TRACEPARENT", "parent", "Tracestate", "state", "Baggage", "bag",
		"X-Forwarded-Host", "host", "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/p", "Cookie", "c",
	)
	before := slices.Clone(h.Request.Header)
	var call wire.Request
	callctx.Inherit(context.WithoutCancel(h), &call, nil)
	if call.CallDepth != 5 {
		t.Errorf("the depth is %d, want 5", call.CallDepth)
	}
	checkHeader(t, call.Header, fields(
		"Traceparent", "parent", "Tracestate", "state", "Baggage", "bag", "Accept-Language", "de",
		"X-Forwarded-For", "a", "X-Forwarded-For", "b",
		"X-Forwarded-Host", "host", "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/p",
	))
	checkHeader(t, h.Request.Header, before)
}

// TestInherit_OwnAndRemoved holds that a call keeps its own value, and lacks what its context removed.
func TestInherit_OwnAndRemoved(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	h.Request.Header = fields("Accept-Language", "de", "Baggage", "bag", "Tracestate", "state")
	call := wire.Request{Header: fields("accept-language", "fr")}
	callctx.Inherit(h, &call, callctx.FieldsOf(callctx.With(h, "baggage", "")))
	checkHeader(t, call.Header, fields("accept-language", "fr", "Tracestate", "state"))
}

// TestFields_With_Replaces holds that the last value of a name counts, and that a context does not change with those
// that derive from it.
func TestFields_With_Replaces(t *testing.T) {
	t.Parallel()
	first := callctx.With(callctx.With(t.Context(), "X-A", "1"), "X-B", "2")
	replaced := callctx.With(first, "x-a", "3")
	removed := callctx.With(first, "X-B", "")
	for _, test := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of a case
		want wire.Header
	}{
		{"none", t.Context(), nil},
		{"first", first, fields("X-A", "1", "X-B", "2")},
		{"replaced", replaced, fields("X-B", "2", "x-a", "3")},
		{"removed", removed, fields("X-A", "1")},
		{"cleaned", callctx.With(t.Context(), "X-A", " a\r\nb "), fields("X-A", "a  b")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHeader(t, callctx.FieldsOf(test.ctx).Replace(nil, nil), test.want)
			if refused, isRefused := callctx.FieldsOf(test.ctx).Refused(); isRefused {
				t.Errorf("%q is refused", refused)
			}
		})
	}
}

// TestFields_Refused_Names holds which names callers cannot set, until they remove them again.
func TestFields_Refused_Names(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Content-Type", "content-encoding", "Bus-Msg-Id", "Host", "not a token", ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allowed := callctx.With(t.Context(), "X-A", "1")
			ctx := callctx.With(callctx.With(allowed, name, "value"), "X-B", "2")
			got, isRefused := callctx.FieldsOf(ctx).Refused()
			require.True(t, isRefused, "refused")
			assert.Equal(t, name, got, "refused")
			checkHeader(t, callctx.FieldsOf(ctx).Replace(nil, nil), fields("X-A", "1", "X-B", "2"))
			if got, isRefused := callctx.FieldsOf(allowed).Refused(); isRefused {
				t.Errorf("%q is refused in the context before", got)
			}
			if got, isRefused := callctx.FieldsOf(callctx.With(ctx, strings.ToUpper(name), "")).Refused(); isRefused {
				t.Errorf("%q is refused, and was removed", got)
			}
		})
	}
}

// TestFields_Replace_BetweenContexts holds what becomes of the header of a request that is sent with another context.
func TestFields_Replace_BetweenContexts(t *testing.T) {
	t.Parallel()
	before := callctx.With(callctx.With(t.Context(), "X-A", "1"), "X-B", "2")
	sent, own := fields("X-A", "1", "X-B", "2"), fields("x-c", "3")
	for _, test := range []struct {
		name         string
		after        context.Context //nolint:containedctx // of a case
		header, want wire.Header
	}{
		{"the same context", before, fields("X-A", "1", "X-B", "2", "X-C", "3"), fields("X-A", "1", "X-B", "2", "X-C", "3")},
		{"another value", callctx.With(before, "X-A", "9"), sent, fields("X-B", "2", "X-A", "9")},
		{"a field more", callctx.With(before, "X-D", "4"), sent, fields("X-A", "1", "X-B", "2", "X-D", "4")},
		{"a field less", callctx.With(before, "X-A", ""), sent, fields("X-B", "2")},
		{"no fields", t.Context(), fields("X-A", "1", "X-B", "2", "X-C", "3"), fields("X-C", "3")},
		{"set in the header", callctx.With(before, "X-C", "9"), append(sent[:2:2], own...), append(sent[:2:2], own...)},
		{"removed from the header", before, fields("X-B", "2"), fields("X-B", "2")},
		{"changed in the header", callctx.With(before, "X-A", "9"), fields("X-A", "7", "X-B", "2"),
			fields("X-A", "7", "X-B", "2")},
		{"another context from scratch", callctx.With(t.Context(), "X-E", "5"), sent, fields("X-E", "5")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			header := slices.Clone(test.header)
			checkHeader(t, callctx.FieldsOf(test.after).Replace(callctx.FieldsOf(before), header), test.want)
			checkHeader(t, header, test.header)
		})
	}
}

// TestFields_Capture_Nearest holds that the header of a response goes to the nearest place that was named.
func TestFields_Capture_Nearest(t *testing.T) {
	t.Parallel()
	var outer, inner http.Header
	ctx := callctx.WithCapture(t.Context(), &outer)
	nested := callctx.With(callctx.WithCapture(ctx, &inner), "X-A", "1")
	for _, test := range []struct {
		name      string
		got, want *http.Header
	}{
		{"none", callctx.FieldsOf(t.Context()).Capture(), nil},
		{"outer", callctx.FieldsOf(ctx).Capture(), &outer},
		{"inner", callctx.FieldsOf(nested).Capture(), &inner},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.got != test.want {
				t.Errorf("%s: the header goes elsewhere", test.name)
			}
		})
	}
}

// TestActor_Places holds whose token calls carry in a handler and outside of one, and that a printed context does not
// show it.
func TestActor_Places(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	h.Request.Actor = "token of the request"
	for _, test := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of a case
		want string
	}{
		{"none", t.Context(), ""},
		{"set", callctx.WithActor(t.Context(), "own token"), "own token"},
		{"in a handler", h, "token of the request"},
		{"within a handler", context.WithoutCancel(h), "token of the request"},
		{"set in a handler", callctx.WithActor(h, "own token"), "own token"},
		{"removed in a handler", callctx.WithActor(h, ""), ""},
		{"set twice", callctx.WithActor(callctx.WithActor(h, "own token"), "other token"), "other token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := callctx.Actor(test.ctx); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if text := fmt.Sprint(callctx.WithActor(t.Context(), "own token")); strings.Contains(text, "own token") {
		t.Errorf("the context prints as %s", text)
	}
}
