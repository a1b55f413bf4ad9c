package faulttest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The environment variables that a process of this binary gets from the one that starts it.
const (
	roleVariable   = "BUSLINE_FAULTS_ROLE"
	configVariable = "BUSLINE_FAULTS_CONFIG"
)

// testTimeout bounds every wait for something that has to come; on the slowest machine it takes a fraction of that.
const testTimeout = time.Minute

// child is another process. It ends when its standard input does, so that none outlives the tests.
type child struct {
	command *exec.Cmd
	orders  io.WriteCloser
	lines   chan string // of its standard output; closed at its end
}

// startChild runs this binary in a role, and returns when it has said that it is ready.
func startChild(t *testing.T, role string, config any) *child {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	c := &child{command: exec.Command(os.Args[0]), lines: make(chan string, 64)}
	c.command.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(text))
	c.command.Stderr = os.Stderr
	output, err := c.command.StdoutPipe()
	require.NoError(t, err)
	c.orders, err = c.command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.command.Start())
	t.Cleanup(c.kill)
	go c.read(output)
	c.expect(t, "ready")
	return c
}

func (c *child) read(output io.Reader) {
	defer close(c.lines)
	for scanner := bufio.NewScanner(output); scanner.Scan(); {
		c.lines <- scanner.Text()
	}
}

// expect waits for a line that starts with a word, and returns the rest of it.
func (c *child) expect(t *testing.T, word string) string {
	t.Helper()
	timeout := time.After(testTimeout)
	for {
		select {
		case line, open := <-c.lines:
			if rest, found := strings.CutPrefix(line, word); found {
				return strings.TrimSpace(rest)
			}
			if !open {
				t.Fatalf("process %d ended and did not say %q", c.command.Process.Pid, word)
			}
		case <-timeout:
			t.Fatalf("process %d does not say %q", c.command.Process.Pid, word)
		}
	}
}

// order sends the process its next order.
func (c *child) order(t *testing.T, word string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.orders, word); err != nil {
		t.Fatalf("process %d cannot be told to %s: %v", c.command.Process.Pid, word, err)
	}
}

// kill ends the process as nothing else does: it has no time for anything. Killing it again is fine.
func (c *child) kill() {
	_ = c.command.Process.Kill() // it fails when there is nothing left to kill
	for range c.lines {          // the pipe must be read to its end before Wait
	}
	_ = c.command.Wait() // it was killed
}

// runChild is what the other process does. It returns its exit status.
func runChild(role string) int {
	run := map[string]func(config []byte) error{"broker": runBroker, "instance": runInstance,
		"listener": runListener, "in order": runInOrder}[role]
	if err := run([]byte(os.Getenv(configVariable))); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		return 1
	}
	return 0
}

// obey carries out each order that comes on standard input, until there are no more.
func obey(orders map[string]func() error) error {
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
		if err := orders[scanner.Text()](); err != nil {
			return err
		}
	}
	return nil
}
