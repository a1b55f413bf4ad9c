//go:build !linux

package main

import "time"

// sleeper is time.Sleep.
type sleeper struct{}

func newSleeper() (*sleeper, error) { return new(sleeper), nil }

func (*sleeper) sleep(wait time.Duration) { time.Sleep(wait) }

func (*sleeper) close() {}
