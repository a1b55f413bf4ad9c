package dev

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// supervisor keeps programs up to date.
type supervisor struct {
	out         *output
	say         *lines // of the subcommand itself
	directory   string // for executables and sockets
	environment []string
	problems    *problems
	watcher     *watcher
}

// program is one program that follows its source.
type program struct {
	importPath, name string
	folders          []string      // those of its own package
	changed          chan struct{} // has an element when the source has changed since the last build
	builds           int
	sum              [sha256.Size]byte // of the latest executable
	current          *process          // that serves; nil for none
}

// change has the program built anew, soon.
func (p *program) change() {
	select {
	case p.changed <- struct{}{}:
	default: // it will be
	}
}

// supervise builds and starts all programs, and replaces them until ctx ends. Then it stops them.
func (s *supervisor) supervise(ctx context.Context, programs []*program) (err error) {
	if s.watcher, err = newWatcher(); err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer func() { _ = s.watcher.files.Close() }()
	if len(programs) == 0 {
		s.say.printf("no program is here: start services as you like; they find the bus with BUS_NATS_URL and BUS_JWKS as above")
	}
	var following sync.WaitGroup
	following.Go(func() { s.watcher.run(ctx, s.say.printf) })
	for _, each := range programs {
		following.Go(func() { s.follow(ctx, each) })
	}
	<-ctx.Done()
	following.Wait()
	return nil
}

// follow keeps one program up to date.
func (s *supervisor) follow(ctx context.Context, p *program) {
	says := s.out.lines(p.name)
	var former sync.WaitGroup // instances that finish their calls
	defer former.Wait()
	p.change()
	for {
		var ended <-chan struct{} // never, without an instance
		if p.current != nil {
			ended = p.current.ended
		}
		select {
		case <-ctx.Done():
			if p.current != nil {
				p.current.stop()
			}
			return
		case <-ended:
			s.problems.set(p.name, p.current.howEnded())
			says.printf("%s; it starts again when its source changes", p.current.howEnded())
			p.current, p.sum = nil, [sha256.Size]byte{}
		case <-p.changed:
			replaced, err := s.renew(ctx, p, says)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				s.problems.set(p.name, err.Error())
				says.printf("%v", err)
				if p.current != nil {
					says.printf("the former instance goes on")
				}
			default:
				s.problems.set(p.name, "")
			}
			if replaced != nil {
				former.Go(replaced.stop)
			}
		}
	}
}

// renew builds a program, starts it, and returns the instance that is replaced; nil for none.
func (s *supervisor) renew(ctx context.Context, p *program, says *lines) (replaced *process, err error) {
	began := time.Now()
	says.printf("building")
	executable, err := s.build(ctx, p)
	if err == nil && executable == "" {
		says.printf("nothing has changed in it")
	}
	if err != nil || executable == "" {
		return nil, err
	}
	says.printf("built in %.1f s", time.Since(began).Seconds())
	started, err := s.start(p, executable, says)
	if err != nil {
		return nil, err
	}
	isReady, err := started.awaitReady(ctx)
	if err != nil {
		started.stop()
		return nil, err
	}
	s.problems.set(p.name, "")
	if isReady {
		says.printf("ready")
	} else {
		says.printf("it runs; whether it is ready it has not said within %s", readyTime)
	}
	replaced, p.current = p.current, started
	return replaced, nil
}

// build builds a program, and watches its source. It returns no executable if that is the one that runs.
func (s *supervisor) build(ctx context.Context, p *program) (executable string, err error) {
	folders, err := sourceFolders(ctx, p.importPath)
	if err != nil {
		folders = nil // the mistake can be corrected in the program's own folders
	}
	if err := s.watcher.watch(p, append(folders, p.folders...)); err != nil {
		return "", fmt.Errorf("watch the source: %w", err)
	}
	p.builds++
	executable = filepath.Join(s.directory, fmt.Sprintf("%s-%d", strings.ReplaceAll(p.name, "/", "-"), p.builds))
	var output bytes.Buffer
	c := exec.CommandContext(ctx, "go", "build", "-o", executable, p.importPath) //nolint:gosec // as the user named it
	c.Stdout, c.Stderr = &output, &output
	if err := c.Run(); err != nil {
		return "", errors.New("it cannot be built:\n" + cmp.Or(strings.TrimSpace(output.String()), err.Error()))
	}
	content, err := os.ReadFile(executable)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	if sum == p.sum {
		return "", os.Remove(executable)
	}
	p.sum = sum
	return executable, nil
}

// problems are what keeps programs from being up to date, by name. It is safe for concurrent use.
type problems struct {
	mu    sync.Mutex // protects texts
	texts map[string]string
}

// notices returns the problems with the names of their programs, for the page.
func (p *problems) notices() (notices []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.texts)) {
		notices = append(notices, name+": "+p.texts[name])
	}
	return notices
}

// set sets the problem of a program, "" for none.
func (p *problems) set(name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts == nil {
		p.texts = make(map[string]string)
	}
	if text == "" {
		delete(p.texts, name)
		return
	}
	p.texts[name] = text
}
