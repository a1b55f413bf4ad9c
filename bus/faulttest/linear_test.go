package faulttest_test

import (
	"path/filepath"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
)

// checkLinearizable fails the test if no order of the operations explains their results to a model, where each one
// takes effect at one moment between its call and its return. Times are nanoseconds since 1970.
func checkLinearizable(t *testing.T, model porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(model, history, testTimeout)
	if result == porcupine.Ok {
		return
	}
	path := filepath.Join(t.ArtifactDir(), "history.html")
	assert.NoError(t, porcupine.VisualizePath(model, info, path))
	t.Errorf("%d operations are not linearizable: %s, see %s, which go test -artifacts keeps", len(history), result, path)
}

// partition splits a history by key.
func partition(history []porcupine.Operation, key func(porcupine.Operation) uint64) (parts [][]porcupine.Operation) {
	at := make(map[uint64]int)
	for _, each := range history {
		i, has := at[key(each)]
		if !has {
			i = len(parts)
			at[key(each)], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], each)
	}
	return parts
}
