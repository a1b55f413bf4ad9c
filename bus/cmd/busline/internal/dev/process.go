package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// readyTime is when a program that does not tell whether it is ready is taken for ready. bus.Run tells it.
	readyTime = 3 * time.Second

	// stopTime is how long an instance has for its calls: more than bus.Run gives them.
	stopTime = 45 * time.Second

	// leftTime is how long output is read that a program leaves to its own children.
	leftTime = time.Second
)

// process is one instance of a program.
type process struct {
	name    string
	command *exec.Cmd
	socket  *net.UnixConn // at which the instance says that it is ready; nil where there is none
	ready   chan struct{} // closed when it is
	ended   chan struct{} // closed when the process has ended
	err     error         // how it ended, once it has
	stopped sync.Once
}

// start starts an executable.
func (s *supervisor) start(p *program, executable string, says *lines) (*process, error) {
	started := &process{name: p.name, ready: make(chan struct{}), ended: make(chan struct{})}
	c := exec.Command(executable) //nolint:noctx // it gets a signal, and time for its calls
	c.Stdout, c.Stderr, c.WaitDelay = says, says, leftTime
	c.Env = append([]string(nil), s.environment...)
	c.SysProcAttr = ownGroup() // Ctrl-C is for us alone: the instances get one signal to stop, not two
	if path := executable + ".ready"; started.listen(path) == nil {
		c.Env = append(c.Env, "NOTIFY_SOCKET="+path)
	}
	started.command = c
	if err := c.Start(); err != nil {
		started.close()
		return nil, err
	}
	go func() {
		defer close(started.ended)
		defer func() { _ = os.Remove(executable) }()
		started.err = c.Wait()
		started.close()
	}()
	return started, nil
}

// listen opens the socket at which an instance says that it is ready (sd_notify(3)).
func (p *process) listen(path string) (err error) {
	if p.socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		return err
	}
	go func() {
		var once sync.Once
		message := make([]byte, 4096)
		for {
			n, err := p.socket.Read(message)
			if err != nil {
				return
			}
			for line := range strings.Lines(string(message[:n])) {
				if strings.TrimSpace(line) == "READY=1" {
					once.Do(func() { close(p.ready) })
				}
			}
		}
	}()
	return nil
}

func (p *process) close() {
	if p.socket != nil {
		_ = p.socket.Close() // removes its file
	}
}

// awaitReady waits until the instance says that it serves, and reports whether it did. It returns an error if the
// instance ends before.
func (p *process) awaitReady(ctx context.Context) (isReady bool, err error) {
	timer := time.NewTimer(readyTime)
	defer timer.Stop()
	select {
	case <-p.ready:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-p.ended:
		return false, errors.New(p.howEnded())
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// howEnded says how the process has ended.
func (p *process) howEnded() string {
	if p.err == nil {
		return "it has ended"
	}
	return fmt.Sprintf("it has ended with %v", p.err)
}

// stop has the instance finish its calls, and returns when it has ended.
func (p *process) stop() {
	p.stopped.Do(func() {
		if terminate(p.command.Process) != nil {
			_ = p.command.Process.Kill()
		}
		select {
		case <-p.ended:
		case <-time.After(stopTime):
			_ = p.command.Process.Kill()
		}
	})
	<-p.ended
}
