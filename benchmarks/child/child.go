// Package child runs parts of a benchmark in processes of their own, each of which is the same program again, so that
// their processor time and memory can be measured separately.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Role is what a child does. It starts, and returns a line for its parent, such as an address; answer answers the
// commands of the parent, one at a time, and is nil if there are none. Its context ends when the parent closes the
// child, or ends.
type Role func(ctx context.Context,
	arguments []string) (line string, answer func(command string) (string, error), err error)

// variable has the role of a child and its arguments, as JSON.
const variable = "BUSLINE_BENCHMARK_CHILD"

// Run reports whether this process is a child. If so, it plays its role until the parent closes it. A program whose
// children these are calls it first.
func Run(ctx context.Context, roles map[string]Role) (isChild bool, err error) {
	text := os.Getenv(variable)
	if text == "" {
		return false, nil
	}
	var call []string
	if err := json.Unmarshal([]byte(text), &call); err != nil || len(call) == 0 {
		return true, fmt.Errorf("%s=%s: it has to be a list of a role and its arguments", variable, text)
	}
	role, known := roles[call[0]]
	if !known {
		return true, fmt.Errorf("%s: there is no role %q", variable, call[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	line, answer, err := role(ctx, call[1:])
	if err != nil {
		return true, fmt.Errorf("%s: %w", call[0], err)
	}
	fmt.Println(line)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		answered, err := answer(commands.Text())
		if err != nil {
			return true, fmt.Errorf("%s: %s: %w", call[0], commands.Text(), err)
		}
		fmt.Println(answered)
	}
	return true, commands.Err()
}

// Process is a child. Use it from one goroutine at a time.
type Process struct {
	command   *exec.Cmd
	stdin     io.WriteCloser
	stdout    *bufio.Reader
	firstLine string
}

// Start starts a child, and returns after its first line.
func Start(role string, arguments ...string) (*Process, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return StartProgram(executable, role, arguments...)
}

// StartProgram is Start with another program, which calls [Run], too.
func StartProgram(executable, role string, arguments ...string) (*Process, error) {
	call, err := json.Marshal(append([]string{role}, arguments...))
	if err != nil {
		return nil, err
	}
	command := exec.Command(executable) //nolint:noctx // a program of ours; it ends with its standard input
	command.Env = append(os.Environ(), variable+"="+string(call))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	process := &Process{command: command, stdin: stdin, stdout: bufio.NewReader(stdout)}
	if process.firstLine, err = process.line(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: it does not start: %w", role, err), process.Close())
	}
	return process, nil
}

func (p *Process) line() (string, error) {
	line, err := p.stdout.ReadString('\n')
	return strings.TrimSpace(line), err
}

// Told returns the first line of the child, such as its address.
func (p *Process) Told() string { return p.firstLine }

// ID returns the process ID.
func (p *Process) ID() int { return p.command.Process.Pid }

// Ask sends a command, and returns the answer.
func (p *Process) Ask(command string) (string, error) {
	if _, err := io.WriteString(p.stdin, command+"\n"); err != nil {
		return "", err
	}
	return p.line()
}

// Close ends the child, and waits for its end.
func (p *Process) Close() error { return errors.Join(p.stdin.Close(), p.command.Wait()) }
