package main

import (
	"bytes"
	"io"
	"testing"
)

// TestReplay lives through worlds in two orders, and through the first of these twice.
func TestReplay(t *testing.T) {
	t.Parallel()
	days, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live := func(seed uint64, order int64) string {
		history, fails, err := days.live(t.Context(), seed, order)
		if err != nil || fails || !bytes.Contains(history, []byte("\n--- PASS")) {
			t.Fatalf("seed %d, order %d: %v\n%s", seed, order, err, history)
		}
		return string(history)
	}
	differ := 0
	for seed := range uint64(5) {
		once := live(seed+1, 0)
		if again := live(seed+1, 0); again != once {
			t.Errorf("seed %d has another history in the same order", seed+1)
		}
		if live(seed+1, 1) != once {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no world has another history in another order")
	}
}

// TestRun_WrongFlags names what is wrong before it builds.
func TestRun_WrongFlags(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"-speed", "1"}, {"-seed", "0"}, {"-seed", "x"}, {"-orders", "0"}, {"17"}} {
		if _, err := run(t.Context(), arguments, io.Discard); err == nil {
			t.Errorf("%v is taken", arguments)
		}
	}
}
