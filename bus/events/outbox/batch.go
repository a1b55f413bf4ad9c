package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
)

const (
	batchSize  = 1000     // rows that are read at once
	batchBytes = 16 << 20 // of their arguments, and one more row
	atOnce     = 128      // events that are published at the same time
)

// batch is the rows that a relay has read.
type batch struct {
	*relay
	rows   []*row // in order of ids
	isFull bool   // there may be more
}

// row is an event that waits.
type row struct {
	events.Record
	id       int64
	attempts int
	position *int64 // of the log before an attempt that may have stored the event; nil for none

	sent bool  // it was published, with success or not
	done bool  // it is stored
	err  error // why it is not
}

// read reads the oldest rows whose turn it is: those that wait for another attempt, and what is behind them with the
// same key, are left out. That is reckoned from one time, or a row could be left out and the one behind it not.
// Transactions may commit in another order than that of their ids, so what is read does not depend on what was.
func (r *relay) read(ctx context.Context) (*batch, error) {
	now, held := "", r.dialect.words().isAfter
	if err := r.db.QueryRowContext(ctx, "SELECT "+r.dialect.words().text).Scan(&now); err != nil {
		return nil, failed("read the time", err)
	}
	found, err := r.db.QueryContext(ctx, r.dialect.bind(
		"SELECT id, publisher, path, event_key, event_id, header, arguments, deliver_at, attempts, log_position FROM "+
			eventsTable+" AS o WHERE NOT (retry_at IS NOT NULL AND "+held("retry_at")+") AND (event_key = '' OR "+
			"NOT EXISTS (SELECT 1 FROM "+eventsTable+" AS held WHERE held.retry_at IS NOT NULL AND "+held("held.retry_at")+
			" AND held.publisher = o.publisher AND held.event_key = o.event_key AND held.id < o.id)) ORDER BY id LIMIT ?"),
		now, now, batchSize)
	if err != nil {
		return nil, failed("read its rows", err)
	}
	defer func() { _ = found.Close() }() // after an error, which is returned
	all, size := &batch{relay: r}, 0
	for !all.isFull && found.Next() {
		each, err := newRow(found)
		if err != nil {
			return nil, failed("read a row", err)
		}
		all.rows, size = append(all.rows, each), size+len(each.Arguments)
		all.isFull = len(all.rows) == batchSize || size >= batchBytes
	}
	if err := found.Err(); err != nil {
		return nil, failed("read its rows", err)
	}
	return all, found.Close() // before they are changed
}

// newRow reads a row. One that does not have what it should has failed.
func newRow(found *sql.Rows) (*row, error) {
	var header, arguments, at, attempts string // SQLite has any text in any column
	var position *string
	each := &row{}
	if err := found.Scan(&each.id, &each.Publisher, &each.Path, &each.Key, &each.ID, &header, &arguments, &at, &attempts,
		&position); err != nil {
		return nil, err
	}
	each.Arguments = json.RawMessage(arguments)
	if err := each.parse(header, at, attempts, position); err != nil {
		each.err = failed("read what is in a row", err)
	}
	return each, nil
}

func (r *row) parse(header, at, attempts string, position *string) (err error) {
	if err := json.Unmarshal([]byte(header), &r.Header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if at != "" {
		if r.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return fmt.Errorf("deliver_at: %w", err)
		}
	}
	if r.attempts, err = strconv.Atoi(attempts); err != nil {
		return fmt.Errorf("attempts: %w", err)
	}
	if position != nil {
		number, err := strconv.ParseInt(*position, 10, 64)
		if err != nil {
			return fmt.Errorf("log_position: %w", err)
		}
		r.position = &number
	}
	return nil
}

// prepare looks for the events that another attempt may have stored. Then it notes in the rows where the logs are, so
// that the next relay knows from where on the log may have their events.
func (b *batch) prepare(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, b.until)
	defer cancel()
	for publisher, rows := range b.byPublisher() {
		position, err := logPosition(ctx, b.conn, publisher)
		if err == nil {
			position, err = find(ctx, b.conn, publisher, position, rows)
		}
		if errors.Is(ctx.Err(), context.Canceled) { // the relay ends
			return ctx.Err()
		}
		for _, each := range rows {
			each.err = err
		}
		if position == nowhere {
			continue
		}
		if err := b.note(ctx, int64(position), rows); err != nil {
			return err
		}
	}
	return nil
}

// note notes in rows where the log is.
func (b *batch) note(ctx context.Context, position int64, rows []*row) error {
	ids := make([]int64, 0, len(rows))
	for _, each := range rows {
		if !each.done {
			ids = append(ids, each.id)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	count, err := b.exec(ctx, "UPDATE "+eventsTable+" SET log_position = ? WHERE id IN ("+b.dialect.words().ids+")"+fence,
		position, asJSON(ids), b.owner)
	if err != nil {
		return failed("note an attempt", err)
	}
	if count < int64(len(ids)) {
		b.until = time.Time{}
		if err := b.look(ctx, b.db); err != nil {
			return err
		}
		return errors.New("another instance has taken over: this one was held up for longer than its lease")
	}
	return nil
}

// fence is the end of a statement that must not change what the next relay has noted. Its parameter is the instance.
const fence = " AND EXISTS (SELECT 1 FROM " + relayTable + " WHERE owner = ?)"

// byPublisher returns the rows that may be published, by publisher.
func (b *batch) byPublisher() map[string][]*row {
	rows := make(map[string][]*row)
	for _, each := range b.rows {
		if each.err == nil {
			rows[each.Publisher] = append(rows[each.Publisher], each)
		}
	}
	return rows
}

// logPosition returns the sequence number of the last event in a log; 0 if there is no log.
func logPosition(ctx context.Context, conn *bus.Conn, publisher string) (uint64, error) {
	position, err := eventlog.LastSequence(ctx, conn, publisher)
	switch {
	case bus.StatusOf(err) == http.StatusNotFound:
		return 0, nil
	case err != nil:
		return nowhere, err
	default:
		return position, nil
	}
}

// nowhere is the position of a log that was not looked at.
const nowhere = 1<<63 - 1

// find marks as done the rows whose events the log has already: JetStream drops an event that is stored again only for
// two minutes, but another attempt may be as long ago as one likes. It returns from where on the log may have those
// of the others. That is behind what was looked at even if there was no time for all.
func find(ctx context.Context, conn *bus.Conn, publisher string, last uint64, rows []*row) (uint64, error) {
	sought := make(map[string]*row)
	after := last
	for _, each := range rows {
		if each.position != nil {
			sought[each.MsgID()] = each
			after = min(after, uint64(*each.position))
		}
	}
	if after == last {
		return last, nil
	}
	looked, err := tail(ctx, conn, publisher, sought, eventlog.AfterSequence(after))
	if bus.StatusOf(err) == http.StatusGone { // the log is another one, or has dropped its oldest events
		looked, err = tail(ctx, conn, publisher, sought, eventlog.Since(time.Time{}))
	}
	if err != nil {
		return looked, err
	}
	return last, nil
}

// tail marks as done the rows whose events it finds, and returns the position of the last event that it has seen.
func tail(ctx context.Context, conn *bus.Conn, publisher string, sought map[string]*row,
	begin eventlog.TailOption) (looked uint64, err error) {
	looked = nowhere
	for event, err := range eventlog.Tail(ctx, conn, publisher, begin, eventlog.NoFollow()) {
		if err != nil {
			return looked, err
		}
		looked = event.Sequence
		if found := sought[event.MsgID]; found != nil {
			found.done = true
		}
	}
	return looked, nil
}

// publish publishes the rows: those with equal keys one after the other, until one fails. When ctx ends, no further one
// is begun.
func (b *batch) publish(ctx context.Context) {
	within, cancel := context.WithDeadline(context.WithoutCancel(ctx), b.until)
	defer cancel()
	var running sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, line := range b.lines() {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			for _, each := range line {
				if each.done {
					continue
				}
				if each.err != nil || ctx.Err() != nil || within.Err() != nil || !b.conn.NATS().IsConnected() {
					return
				}
				each.sent, each.err = true, each.Publish(within, b.conn)
				if each.err != nil {
					return
				}
				each.done = true
			}
		})
	}
	running.Wait()
}

// lines returns the rows, those of one key in one line.
func (b *batch) lines() (lines [][]*row) {
	type keyOf struct{ publisher, key string }
	byKey := make(map[keyOf]int)
	for _, each := range b.rows {
		key := keyOf{each.Publisher, each.Key}
		at, known := byKey[key]
		if !known || each.Key == "" {
			at = len(lines)
			byKey[key], lines = at, append(lines, nil)
		}
		lines[at] = append(lines[at], each)
	}
	return lines
}

// finish deletes the rows that are stored, and notes why others are not. It does so also when the lease or the relay
// has ended meanwhile.
func (b *batch) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), afterwards)
	defer cancel()
	var done []int64
	refused := make(map[refusal][]int64)
	for _, each := range b.rows {
		switch {
		case each.done:
			done = append(done, each.id)
		case each.err != nil:
			why := b.refuse(each)
			refused[why] = append(refused[why], each.id)
		}
	}
	if len(done) > 0 {
		if _, err := b.exec(ctx, "DELETE FROM "+eventsTable+" WHERE id IN ("+b.dialect.words().ids+")",
			asJSON(done)); err != nil {
			return failed("delete what is published", err)
		}
	}
	for why, ids := range refused {
		if _, err := b.exec(ctx, "UPDATE "+eventsTable+" SET attempts = attempts + 1, log_position = "+why.position+
			", last_error = ?, retry_at = "+b.dialect.words().later+" WHERE id IN ("+b.dialect.words().ids+")"+fence,
			why.reason, why.pause.Seconds(), asJSON(ids), b.owner); err != nil {
			return failed("note an error", err)
		}
	}
	return nil
}

// refusal is why rows are not published, and what becomes of them.
type refusal struct {
	reason   string
	pause    time.Duration // until the next attempt
	position string        // SQL
}

// refuse logs why a row is not published. If no attempt so far can have stored the event, the log need not be asked.
func (b *batch) refuse(tried *row) refusal {
	const message = "an event of the outbox is not published; it is tried again"
	b.of.Log(b.of.LimitedLine(zerolog.WarnLevel, message).Str("publisher", tried.Publisher).Str("path", tried.Path).
		Str("event", tried.ID[:min(len(tried.ID), 100)]).Err(tried.err), message)
	why := refusal{tried.err.Error(), pauseAfter(tried), "log_position"}
	failure, ok := errors.AsType[*bus.Error](tried.err)
	if tried.sent && tried.position == nil && ok && failure.Executed == bus.ExecutedNo {
		why.position = "NULL"
	}
	return why
}

// pauseAfter returns how long a row waits: 1 s, and twice as long after each attempt. An event that is refused waits up
// to 10 minutes; else the broker may be well again soon.
func pauseAfter(failed *row) time.Duration {
	longest := 10 * time.Second
	if code := bus.StatusOf(failed.err); code >= 400 && code < 500 {
		longest = 10 * time.Minute
	}
	return min(time.Second<<min(max(failed.attempts, 0), 10), longest)
}

func asJSON(ids []int64) string {
	text, _ := json.Marshal(ids) //nolint:errchkjson // numbers can always be written
	return string(text)
}
