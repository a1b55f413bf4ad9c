package main

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper sleeps more exactly than time.Sleep, which in an idle process wakes a millisecond late: the poller waits
// for a timer of the kernel as it does for a connection. Use it from one goroutine at a time.
type sleeper struct{ timer *os.File }

func newSleeper() (*sleeper, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &sleeper{os.NewFile(uintptr(timer), "timer")}, nil
}

func (s *sleeper) sleep(wait time.Duration) {
	var expirations [8]byte
	err := s.control(&unix.ItimerSpec{Value: unix.NsecToTimespec(wait.Nanoseconds())})
	if err == nil {
		_, err = s.timer.Read(expirations[:])
	}
	if err != nil {
		time.Sleep(wait)
	}
}

func (s *sleeper) control(setting *unix.ItimerSpec) error {
	raw, err := s.timer.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(timer uintptr) { refused = unix.TimerfdSettime(int(timer), 0, setting, nil) })
	return errors.Join(err, refused)
}

func (s *sleeper) close() { _ = s.timer.Close() }
