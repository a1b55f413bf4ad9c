//go:build !unix

package dev

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// terminate ends a process at once: there is no signal that asks it to.
func terminate(process *os.Process) error { return process.Kill() }
