package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/create"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.CheckShortCircuit()
	require.NoError(t, bus.Serve[create.Accounts](b.Connect(create.Host), &create.Store{}))
	recipetest.Curl(t, b, "create", nil)
}

func TestRegister(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.CheckShortCircuit()
	require.NoError(t, bus.Serve[create.Accounts](b.Connect(create.Host), &create.Store{}))
	accounts := create.NewClient(b.Connect("caller.example"))
	for _, step := range []struct {
		email string
		id    int
	}{{"ada@example.com", 1}, {"grace@example.com", 2}, {"ada@example.com", 1}} {
		id, err := create.Register(t.Context(), accounts, step.email)
		require.NoError(t, err)
		assert.Equal(t, step.id, id)
	}
	_, err := create.Register(t.Context(), accounts, "ada")
	assert.Equal(t, 422, bus.StatusOf(err))
}
