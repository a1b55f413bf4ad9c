package list_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/list"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.CheckShortCircuit()
	books := list.Shelf{{1, "Austen", "Emma"}, {2, "Herbert", "Dune"}, {3, "Austen", "Persuasion"},
		{4, "Austen", "Sanditon"}}
	require.NoError(t, bus.Serve[list.Books](b.Connect(list.Host), books))
	recipetest.Curl(t, b, "list", nil)
}

// TestAll reads a collection of more than one page.
func TestAll(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	books := make(list.Shelf, 250)
	for i := range books {
		books[i].ID = i + 1
	}
	require.NoError(t, bus.Serve[list.Books](b.Connect(list.Host), books))
	var read list.Shelf
	for book, err := range list.All(t.Context(), list.NewClient(b.Connect("caller.example")), "") {
		require.NoError(t, err)
		read = append(read, book)
	}
	assert.Equal(t, books, read)
}
