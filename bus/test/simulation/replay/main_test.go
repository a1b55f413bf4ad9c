package main

import (
	"bytes"
	"strconv"
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

// TestRun_Order prints the history of one world in one order.
func TestRun_Order(t *testing.T) {
	t.Parallel()
	var to bytes.Buffer
	fails, err := run(t.Context(), []string{"-seed", strconv.Itoa(17), "-order", "3"}, &to)
	if err != nil || fails || !bytes.Contains(to.Bytes(), []byte("\nno promise is broken in the orders from 3 to 3\n")) {
		t.Errorf("%v\n%s", err, to.String())
	}
	if _, err := run(t.Context(), []string{"-speed", "1"}, &to); err == nil {
		t.Error("an unknown flag is taken")
	}
}
