package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// window is how many bytes of a stream this caller lets come before it has read more.
const window = 64 << 10

// partForm is that of a part of a stream: the last one is n/n, those before are n/*.
var partForm = regexp.MustCompile(`^(\d{1,9})/(\*|\d{1,9})$`)

// stream makes a call, and takes the response as it comes. Without an error it has come whole.
func (i *instance) stream(ctx context.Context, toHost, path string, take func(piece []byte)) error {
	id := rand.Text()
	arrivals := i.expect(id)
	defer i.forget(id)
	plain, _, _ := strings.Cut(path, "?")
	err := i.broker.PublishRequest(i.endpointSubject("443", toHost, "GET", plain), i.responseSubject(host, i.id)+"."+id,
		i.request(id, "GET", toHost, path, nil, field{"Bus-Window", strconv.Itoa(window)}))
	if err != nil {
		return err
	}
	next, read, opened := 1, 0, window
	for {
		select {
		case arrived := <-arrivals:
			switch {
			case arrived == nil:
				return fmt.Errorf("no instance serves GET %s on %s", path, toHost)
			case arrived.fields["bus-from-host"] != toHost || arrived.fields["bus-op-code"] == "Ack":
				continue
			}
			part := partForm.FindStringSubmatch(arrived.fields["bus-fragment"])
			switch {
			case part == nil && next == 1 && arrived.status == http.StatusOK: // it fitted into one message
				take(arrived.body)
				return nil
			case part == nil:
				return fmt.Errorf("%s answers %d", toHost, arrived.status)
			case part[1] != strconv.Itoa(next):
				return fmt.Errorf("part %d is lost", next)
			}
			take(arrived.body)
			next, read = next+1, read+len(arrived.body)
			if part[2] != "*" {
				return nil
			}
			if len(arrived.body) == 0 || read+window-opened >= window/2 { // it is asked whether it lives, or it has read enough
				opened = read + window
				i.open(arrived, opened)
			}
		case <-time.After(timeBudget):
			return fmt.Errorf("nothing comes from %s", toHost)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open lets the sender of a part send more.
func (i *instance) open(part *response, limit int) {
	err := i.broker.Publish(i.responseSubject(part.fields["bus-from-host"], part.fields["bus-from-id"]),
		message("HTTP/1.1 202 Accepted", nil,
			field{"Connection", "close"}, field{"Bus-From-Host", host}, field{"Bus-From-Id", i.id},
			field{"Bus-Msg-Id", part.fields["bus-msg-id"]},
			field{"Bus-Op-Code", "Ack"}, field{"Bus-Queue", host}, field{"Bus-Window", strconv.Itoa(limit)}))
	if err != nil {
		log.Printf("a window is lost: %v", err)
	}
}

// pause is how long a stream is idle before its caller is asked whether it lives.
const pause = 5 * time.Second

// sendStream answers with a stream of lines; in one piece if the caller takes no stream.
func (i *instance) sendStream(to *request, queue string, lines iter.Seq[string]) {
	opens := i.expect(to.fields["bus-msg-id"])
	defer i.forget(to.fields["bus-msg-id"])
	head := answer{status: http.StatusOK, fields: []field{{"Content-Type", "text/plain; charset=utf-8"}}}
	limit, number, sent := windowOf(to.received), 0, 0
	if limit == 0 {
		for line := range lines {
			head.body = append(head.body, line...)
		}
		i.reply(to, "Res", queue, head)
		return
	}
	send := func(body, count string) {
		number++
		sent += len(body)
		part := answer{status: head.status, body: []byte(body)}
		if number == 1 {
			part.fields = head.fields
		}
		part.fields = append(part.fields, field{"Bus-Fragment", strconv.Itoa(number) + "/" + count})
		i.reply(to, "Res", queue, part)
	}
	for line := range lines {
		for silent := time.Duration(0); sent+len(line) > limit; {
			select {
			case opened := <-opens:
				limit, silent = max(limit, windowOf(opened.received)), 0
			case <-time.After(pause):
				if silent += pause; silent >= timeBudget {
					i.reply(to, "Res", queue, i.problem(to, http.StatusGatewayTimeout, "the stream is not read"))
					return
				}
				send("", "*")
			}
		}
		send(line, "*")
	}
	send("", strconv.Itoa(number+1))
}

// windowOf reads Bus-Window; 0 if there is none.
func windowOf(m received) int {
	window, err := strconv.ParseInt(m.fields["bus-window"], 10, 64)
	if err != nil || window < 0 {
		return 0
	}
	return int(min(window, 1<<30))
}

// count has another service count, and returns what it says.
func (i *instance) count(ctx context.Context, to int) (string, error) {
	var counted strings.Builder
	err := i.stream(ctx, "trouble.example", "/count?n="+strconv.Itoa(to), func(piece []byte) { counted.Write(piece) })
	if err == nil && counted.Len() == 0 {
		err = errors.New("trouble.example does not count")
	}
	return strings.Join(strings.Fields(counted.String()), " "), err
}
