package child_test

import (
	"context"
	"errors"
	"log"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/benchmarks/child"
)

func TestMain(m *testing.M) {
	isChild, err := child.Run(context.Background(), map[string]child.Role{"upper": upper})
	if !isChild {
		os.Exit(m.Run())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// upper is a role that answers in capital letters.
func upper(_ context.Context, arguments []string) (string, func(string) (string, error), error) {
	if len(arguments) == 0 {
		return "", nil, errors.New("no argument")
	}
	return arguments[0], func(command string) (string, error) { return strings.ToUpper(command), nil }, nil
}

func TestProcess(t *testing.T) {
	t.Parallel()
	process, err := child.Start("upper", "hello there")
	require.NoError(t, err)
	assert.Equal(t, "hello there", process.Told())
	for _, command := range []string{"a", "b c"} {
		answer, err := process.Ask(command)
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(command), answer)
	}
	if runtime.GOOS == "linux" {
		assert.Positive(t, child.Memory(process.ID()))
		assert.Positive(t, child.Writes(process.ID()))
		assert.GreaterOrEqual(t, child.CPU(process.ID()), child.CPU(1<<30))
	}
	require.NoError(t, process.Close())
	_, err = process.Ask("c")
	assert.Error(t, err)
}

func TestStart_Fails(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"upper", "lower"} {
		_, err := child.Start(role)
		assert.ErrorContains(t, err, role+": it does not start")
	}
}
