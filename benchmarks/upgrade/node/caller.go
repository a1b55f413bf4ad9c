package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/upgrade/check"
	"github.com/busline/busline/bus"
)

// patience is how long a check may take.
const patience = 30 * time.Second

// errTimeout is the cause of the end of a check.
var errTimeout = fmt.Errorf("hangs: no end within %s", patience)

// What the bodies of checks have.
const (
	middle = 3 << 20  // bytes, more than one message of a broker takes
	large  = 40 << 20 // bytes, more than messages may have
)

// caller calls a service.
type caller struct {
	conn     *bus.Conn
	versions int    // how many run
	host     string // of the service
}

// checks are what a caller tries, by the names of [check.Calls].
func checks() map[string]func(caller, context.Context) error {
	return map[string]func(caller, context.Context) error{
		"call":           caller.call,
		"parts up":       func(c caller, ctx context.Context) error { return c.send(ctx, middle, false) },
		"parts down":     func(c caller, ctx context.Context) error { return c.receive(ctx, middle, "") },
		"stream up":      func(c caller, ctx context.Context) error { return c.send(ctx, middle, true) },
		"stream down":    func(c caller, ctx context.Context) error { return c.receive(ctx, middle, "&flushed=yes") },
		"40 MiB up":      func(c caller, ctx context.Context) error { return c.send(ctx, large, true) },
		"40 MiB down":    func(c caller, ctx context.Context) error { return c.receive(ctx, large, "&flushed=yes") },
		"method streams": caller.numbers,
		"multicast":      caller.multicast,
		"event":          caller.event,
		"error":          caller.fail,
		"deadline":       caller.deadline,
	}
}

// beCaller calls services. The arguments are the broker, the host, and how many versions run. Its commands are the name
// of a check and a host, with a tab between.
func beCaller(ctx context.Context, arguments []string) (line string, _ func(string) (string, error), err error) {
	versions, err := strconv.Atoi(arguments[2])
	if err != nil {
		return "", nil, err
	}
	conn, err := connect(ctx, arguments[0], arguments[1])
	if err != nil {
		return "", nil, err
	}
	return arguments[1], func(command string) (string, error) {
		name, host, _ := strings.Cut(command, "\t")
		run, known := checks()[name]
		if !known {
			return "", fmt.Errorf("there is no check %q", name)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errTimeout)
		defer cancel()
		err := run(caller{conn, versions, host}, ctx)
		if ctx.Err() != nil {
			err = errTimeout
		}
		return outcome(err), nil
	}, nil
}

// outcome writes the outcome of a check on one line: "ok", what was refused, or what is wrong.
func outcome(err error) string {
	failed, refused := errors.AsType[*bus.Error](err)
	switch {
	case err == nil:
		return check.OK
	case refused:
		return fmt.Sprintf(check.Refused+"%d, executed %s: %s", failed.Status, failed.Executed, failed.Detail)
	default:
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
}

func (c caller) call(ctx context.Context) error {
	var result struct{ Sum int }
	if err := call(ctx, c.conn, "https://"+c.host+"/add", bus.Args{"x": 2, "y": 3}, &result); err != nil {
		return err
	}
	return check.Want("the sum", "5", strconv.Itoa(result.Sum))
}

// do makes a call, and checks the digest of the response or, if received is nil, the text.
func (c caller) do(r *http.Request, expected string, digest func(io.Reader) (string, error)) error {
	response, err := c.conn.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return check.Refusal(response)
	}
	got, err := digest(response.Body)
	if err != nil {
		return err
	}
	return check.Want("the response", expected, got)
}

func text(from io.Reader) (string, error) {
	read, err := io.ReadAll(from)
	return string(read), err
}

func (c caller) send(ctx context.Context, size int64, unknownLength bool) error {
	body := check.Body(size)
	if !unknownLength {
		read, _ := io.ReadAll(body) // it can be read
		body = bytes.NewReader(read)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.host+"/digest", body)
	if err != nil {
		return err
	}
	return c.do(r, check.WantDigest(size), text)
}

func (c caller) receive(ctx context.Context, size int64, more string) error {
	r, err := request(ctx, fmt.Sprintf("https://%s/bytes?size=%d%s", c.host, size, more))
	if err != nil {
		return err
	}
	return c.do(r, check.WantDigest(size), check.Digest)
}

func (c caller) numbers(ctx context.Context) error {
	r, err := request(ctx, "https://"+c.host+"/numbers?count=3")
	if err != nil {
		return err
	}
	return c.do(r, `{"n":0} {"n":1} {"n":2}`, func(from io.Reader) (string, error) {
		read, err := io.ReadAll(from)
		return string(bytes.Join(bytes.Fields(read), []byte(" "))), err
	})
}

func (c caller) multicast(ctx context.Context) error {
	for address, least := range map[string]int{
		"https://" + c.host + "/who": 1, "https://" + sharedHost + "/who": c.versions,
		"https://all:888/ping": 2 * c.versions,
	} {
		var from []string
		r, err := request(ctx, address)
		if err != nil {
			return err
		}
		for response, err := range multicast(c.conn, r) {
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				return check.Refusal(response)
			}
			from = append(from, response.Header.Get("Bus-From-Id"))
		}
		slices.Sort(from)
		if got := len(slices.Compact(from)); got < least || got > least && least < 2*c.versions {
			return fmt.Errorf("wrong: %d instances answer %s", got, address)
		}
	}
	return nil
}

func (c caller) event(ctx context.Context) error {
	text := fmt.Sprintf("%s-%d", c.conn.ID(), time.Now().UnixNano())
	if err := publish(ctx, c.conn, "https://"+c.conn.Host()+":417/on-greeted", bus.Args{"text": text}); err != nil {
		return err
	}
	for {
		r, err := request(ctx, "https://"+c.host+"/seen?text="+text)
		if err != nil {
			return err
		}
		response, err := c.conn.Do(r)
		if err != nil {
			return err
		}
		seen, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(seen) == "true" {
			return err
		}
	}
}

// fail checks the errors of a method, and of a path that is not there.
func (c caller) fail(ctx context.Context) error {
	for path, expected := range map[string]string{
		"/fail": "refused: 409, executed yes: no room for it", "/nothing": "refused: 404, executed no: ",
	} {
		got := outcome(call(ctx, c.conn, "https://"+c.host+path, nil, nil))
		if err := check.Want("the error of "+path, expected, got[:min(len(got), len(expected))]); err != nil {
			return err
		}
	}
	return nil
}

func (c caller) deadline(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	failed, _ := errors.AsType[*bus.Error](call(short, c.conn, "https://"+c.host+"/wait", nil, nil))
	if failed == nil {
		return errors.New("wrong: no error of a call whose time is spent")
	}
	return check.Want("the status", "504", strconv.Itoa(failed.Status))
}
