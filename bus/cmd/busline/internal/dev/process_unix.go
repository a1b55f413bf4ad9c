//go:build unix

package dev

import (
	"os"
	"syscall"
)

// ownGroup puts a process into a group of its own, which gets no signals of the terminal.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminate(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
