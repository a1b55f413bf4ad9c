package bus_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/busline/busline/bus"
)

func TestKnowledgeOfResponders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(k *bus.Knowledge)
		want    []string
	}{
		"those who answered": {func(k *bus.Knowledge) { k.Call("1")("a", "b") }, []string{"a", "b"}},
		"who does not answer again is gone": {func(k *bus.Knowledge) {
			k.Call("1")("a", "b")
			k.Call("2")("a")
		}, []string{"a"}},
		"a stranger is learnt late": {func(k *bus.Knowledge) {
			k.Call("1")("a")
			k.Late("1", "b")
		}, []string{"a", "b"}},
		"a stranger of the call before": {func(k *bus.Knowledge) {
			k.Call("1")("a")
			end := k.Call("2")
			k.Late("1", "b")
			end("a")
		}, []string{"a", "b"}},
		"a stranger alone is not all": {func(k *bus.Knowledge) {
			k.Call("1")
			k.Late("1", "b")
		}, nil},
		"a stranger of an unknown call": {func(k *bus.Knowledge) {
			k.Call("1")("a")
			k.Late("2", "b")
		}, []string{"a"}},
		"forgotten": {func(k *bus.Knowledge) {
			k.Call("1")("a")
			k.Forget()
		}, nil},
		"forgotten during a call": {func(k *bus.Knowledge) {
			k.Call("1")("a")
			end := k.Call("2")
			k.Forget()
			end("a")
		}, nil},
		"old calls are not remembered for ever": {func(k *bus.Knowledge) {
			k.Call("old")("a")
			for i := range 5000 {
				k.Call(strconv.Itoa(i))("a")
			}
			k.Late("old", "b")
		}, []string{"a"}},
	} {
		k := bus.NewKnowledge()
		test.happens(k)
		if got := k.Names(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestKnownSubjectsAreBounded holds for a caller that multicasts to ever new paths of one host.
func TestKnownSubjectsAreBounded(t *testing.T) {
	t.Parallel()
	k := bus.NewKnowledge()
	for i := range 3 * bus.MaxKnownSubjects {
		path := strconv.Itoa(i)
		k.CallAt(path, path)("a")
	}
	if known, ofHost := k.Subjects(); known != bus.MaxKnownSubjects || ofHost != known {
		t.Errorf("%d subjects are known, and %d of the host; want %d of both", known, ofHost, bus.MaxKnownSubjects)
	}
	k.Forget()
	if known, ofHost := k.Subjects(); known != 0 || ofHost != 0 {
		t.Errorf("%d subjects are known after a greeting, and %d of the host", known, ofHost)
	}
}
