package portal_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// Two versions of a service.
type (
	shelfV1 struct{}
	shelfV2 struct{}
)

func (shelfV1) Count(shelf int) (books int)    { return shelf }
func (shelfV2) Count(shelf string) (books int) { return len(shelf) }
func (shelfV2) Empty()                         {}

const shelfHost = "shelf.example"

// TestDocument_OfDifferingInstances holds that what is shown of two versions of a host does not depend on chance, and
// that the difference is reported.
func TestDocument_OfDifferingInstances(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openFor(t, i)
	var later atomic.Int64 // which ages what the portal has gathered
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()),
		append(longTimeouts(), portal.WithClock(clock))...))
	connect := func(version string) *bus.Conn {
		return entrance.Bus.Connect(shelfHost, bus.WithVersion(version), i.Trust())
	}
	v1, v2 := connect("1.9"), connect("1.10")
	require.NoError(t, bus.Serve(v1, shelfV1{}))
	require.NoError(t, bus.Serve(v2, shelfV2{}))
	const both = "/shelf.example:443/count /shelf.example:443/empty"
	for range 10 { // as many instances have one as the other: the newer one
		later.Add(int64(time.Minute))
		document := entrance.document()
		require.Equal(t, both, paths(document))
		require.Equal(t, "Instances of shelf.example:443 differ. Shown is what "+v2.ID()+" (version 1.10) serve; at "+v1.ID()+
			" (version 1.9) "+
			"POST /count: the argument shelf is now integer (int64), was string: callers that send the old type get 400 or 422, "+
			"and one more difference, which breaks callers of the shown one.", document.Info.Description)
	}
	var list struct {
		Hosts map[string][]struct{ ID, Digest string }
	}
	require.NoError(t, json.Unmarshal([]byte(entrance.Get("/portal/instances.json").Text), &list))
	require.Len(t, list.Hosts[shelfHost], 2)
	assert.NotEqual(t, list.Hosts[shelfHost][0].Digest, list.Hosts[shelfHost][1].Digest)
	third := connect("1.9")
	require.NoError(t, bus.Serve(third, shelfV1{}))
	for range 10 { // more instances have the older one
		later.Add(int64(time.Minute))
		require.Equal(t, "/shelf.example:443/count", paths(entrance.document()))
	}
	assert.Contains(t, entrance.document().Info.Description,
		"at "+v2.ID()+" (version 1.10) POST /count: the argument shelf is now string")
	require.NoError(t, v2.Close(context.Background()))
	later.Add(int64(time.Minute))
	assert.Equal(t, "The endpoints that the caller may call.", entrance.document().Info.Description, "all are the same")
}

// TestCompareVersions_Numbers orders versions by their numbers.
func TestCompareVersions_Numbers(t *testing.T) {
	t.Parallel()
	ordered := strings.Fields("1 1.9 1.10 2 10 v1.2.3 v1.2.3-rc1 v1.10")
	for at := range len(ordered) - 1 {
		assert.Negative(t, portal.CompareVersions(ordered[at], ordered[at+1]), ordered[at])
		assert.Positive(t, portal.CompareVersions(ordered[at+1], ordered[at]), ordered[at])
	}
	assert.Zero(t, portal.CompareVersions("", ""))
	assert.Negative(t, portal.CompareVersions("", "0"))
}
