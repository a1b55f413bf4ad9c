package documents_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

// cellar has a function that changes something, which a link must not call.
type cellar interface {
	//busline:method POST
	Empty(ctx context.Context) error
	Count(ctx context.Context) (bottles int, err error)
}

var _ = reflectapi.Register[cellar](`
// cellar has a function that changes something, which a link must not call.
type cellar interface {
	//busline:method POST
	Empty(ctx context.Context) error
	Count(ctx context.Context) (bottles int, err error)
}
`)

type bottles struct{}

func (bottles) Empty(context.Context) error                    { return nil }
func (bottles) Count(context.Context) (bottles int, err error) { return 0, nil }

// TestMethodDirective holds a function to the HTTP method that its interface declares, and so the document.
func TestMethodDirective(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve[cellar](t, w.Connect(treasuryHost), bottles{})
		caller := w.Connect("caller.example")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+treasuryHost+"/empty", nil)
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
		assert.Equal(t, "POST", response.Header.Get("Allow"))
		require.NoError(t, caller.Call(t.Context(), "POST https://"+treasuryHost+"/empty", nil, nil))
		assert.Equal(t, 200, kit.StatusOf(t, t.Context(), caller, http.MethodGet, "https://"+treasuryHost+"/count"),
			"without a directive")
		paths := documentOf(t, caller, "", 443).Paths
		assert.Len(t, paths.Value("/"+treasuryHost+":443/empty").Operations(), 1)
		assert.NotNil(t, paths.Value("/"+treasuryHost+":443/empty").Post)
	})
}
