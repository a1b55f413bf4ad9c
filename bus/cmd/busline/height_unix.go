//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// height returns how many lines the terminal of standard output has, 0 if it is none.
func height() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}
