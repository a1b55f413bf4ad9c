package compare_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi"
)

// Below is a union, and ways that it went.
type (
	Means      interface{ isMeans() }
	MoreMeans  interface{ isMeans() }
	OtherMeans interface{ isMeans() }

	Card struct {
		Number string `json:"number"`
	}
	LongCard struct {
		Number string `json:"number" jsonschema:"minLength=12"`
		Name   string `json:"name"`
	}
	Cash   struct{}
	Cheque struct{ Card }
)

func (Card) isMeans()     {}
func (LongCard) isMeans() {}
func (Cash) isMeans()     {}

var (
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[Means]{Name: "cash", Value: Cash{}},
		reflectapi.Variant[Means]{Name: "card", Value: Card{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[MoreMeans]{Name: "card", Value: LongCard{}},
		reflectapi.Variant[MoreMeans]{Name: "cash", Value: Cash{}},
		reflectapi.Variant[MoreMeans]{Name: "cheque", Value: &Cheque{}})
	_ = reflectapi.RegisterUnion("type", "", reflectapi.Variant[OtherMeans]{Name: "cash", Value: Cash{}})
)

// TestUnions compares a union in an argument, where more is fine, and in a result, where less is.
func TestUnions(t *testing.T) {
	t.Parallel()
	assert.Empty(t, breaking(takes[Means](t), takes[Means](t)))
	assert.Equal(t, []string{
		"POST /do: the argument p (kind card).number is now required: callers that omit it get 422",
		"POST /do: the argument p (kind card).number now requires a length of at least 12: callers that send anything else get 422",
	}, breaking(takes[Means](t), takes[MoreMeans](t)))
	assert.Equal(t, []string{
		"POST /do: the argument p (kind card).name is no longer read: what callers send is ignored",
		"POST /do: the argument p no longer accepts the kind cheque: callers that send it get 400",
	}, breaking(takes[MoreMeans](t), takes[Means](t)))
	assert.Equal(t, []string{
		"POST /do: the argument p is now told apart by type, was by kind: callers that send the old type get 400 or 422",
	}, breaking(takes[Means](t), takes[OtherMeans](t)))

	assert.Equal(t, []string{
		"POST /do: the result's p may now also be of the kind cheque: callers that read it have to expect that",
	}, breaking(gives[Means](t), gives[MoreMeans](t)))
	assert.Equal(t, []string{
		"POST /do: the result's p (kind card).name is gone: callers that read it find nothing",
	}, breaking(gives[MoreMeans](t), gives[Means](t)))
	assert.Equal(t, []string{
		"POST /do: the result's p is now told apart by type, was by kind: callers that read the old type fail",
	}, breaking(gives[Means](t), gives[OtherMeans](t)))
}
