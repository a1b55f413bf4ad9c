package serving_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

// shelves has an argument with a default, which an empty text is not.
type shelves interface {
	List(ctx context.Context, state string) (httpResponseBody string, err error)
	Update(ctx context.Context, id int, httpRequestBody []int, state string) (httpResponseBody string, err error)
	Count(ctx context.Context, state string) (found string, err error)
}

var _ = reflectapi.Register[shelves](`type shelves interface {
	//busline:arg state default=open
	List(ctx context.Context, state string) (httpResponseBody string, err error)
	//busline:arg state default=open
	Update(ctx context.Context, id int, httpRequestBody []int, state string) (httpResponseBody string, err error)
	//busline:arg state default=open
	Count(ctx context.Context, state string) (found string, err error)
}
`)

type echoedState struct{}

func (echoedState) List(_ context.Context, state string) (httpResponseBody string, _ error) {
	return state, nil
}

func (echoedState) Count(_ context.Context, state string) (found string, _ error) { return state, nil }

func (echoedState) Update(_ context.Context, _ int, _ []int, state string) (httpResponseBody string, _ error) {
	return state, nil
}

// TestDefault_EmptyText holds that an empty text that a caller passes is what the method gets, and that only a missing
// one is the default.
func TestDefault_EmptyText(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("shelves.example"), w.Connect("caller.example")
		require.NoError(t, bus.Serve[shelves](callee, echoedState{}))
		type state struct {
			State string `json:"state"`
		}
		type update struct {
			ID    int    `json:"id"`
			Body  []int  `json:"httpRequestBody"`
			State string `json:"state"`
		}
		for _, test := range []struct {
			address        string
			missing        bus.Args
			empty, byNames any
		}{
			{"GET https://shelves.example/shelves", bus.Args{}, state{}, bus.Args{"state": ""}},
			{"PUT https://shelves.example/shelves/{id}", bus.Args{"id": 1, "httpRequestBody": []int{2}}, update{ID: 1},
				bus.Args{"id": 1, "httpRequestBody": []int{2}, "state": ""}},
		} {
			var got string
			require.NoError(t, caller.Call(t.Context(), test.address, test.missing, &got))
			assert.Equal(t, "open", got, test.address)
			for _, arguments := range []any{test.empty, test.byNames} {
				got = "not set"
				require.NoError(t, caller.Call(t.Context(), test.address, arguments, &got))
				assert.Empty(t, got, "%s %v", test.address, arguments)
			}
		}
		var got struct{ Found string }
		require.NoError(t, caller.Call(t.Context(), "https://shelves.example/count", state{}, &got))
		assert.Empty(t, got.Found)
	})
}
