package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/events"
)

// Box is the outbox of a database. It is safe for concurrent use.
type Box struct {
	db      *sql.DB
	dialect Dialect
	poll    time.Duration
	lease   time.Duration
	checked atomic.Bool // the tables are there, and of this version
}

// Option is an option of [New].
type Option func(*Box)

// Poll sets how long Relay waits before it looks for rows again, after it has found none. Default: 250 ms.
func Poll(pause time.Duration) Option { return func(b *Box) { b.poll = pause } }

// Lease sets after what time another instance relays in place of one that has died. One attempt to publish takes no
// longer. All instances should have the same: a lease that ends ten times as far ahead is ended, as if the clock of the
// database had been wrong. Default: 30 s.
func Lease(length time.Duration) Option { return func(b *Box) { b.lease = length } }

// Defaults of the options.
const (
	defaultPoll  = 250 * time.Millisecond
	defaultLease = 30 * time.Second
)

// New returns the outbox of a database. It does not access the database: see Migrate of [Box]. A Poll or Lease of 0 or
// less is the default.
func New(db *sql.DB, dialect Dialect, options ...Option) *Box {
	box := &Box{db: db, dialect: dialect}
	for _, option := range options {
		option(box)
	}
	if box.poll <= 0 {
		box.poll = defaultPoll
	}
	if box.lease <= 0 {
		box.lease = defaultLease
	}
	return box
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, arguments ...any) *sql.Row
}

// Tx is a transaction: a *sql.Tx, or a *sql.Conn in one.
type Tx interface {
	ExecContext(ctx context.Context, query string, arguments ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, arguments ...any) *sql.Row
}

// In returns a context whose events belong to a transaction: Publish of a publisher with [events.Durable], generated or
// not, writes a row with it, and needs no broker. The event is published when the transaction is committed, by Relay of
// any instance, and never if it is rolled back. Events without Durable are refused with status 400. The row has the
// header of the event, such as fields of bus.WithOutgoingHeader, and no token. Interceptors see the event when it is
// written. It makes no sense after the end of the transaction, and is as safe for concurrent use as the transaction.
//
// Events with a key are published in order of the ids of their rows. So transactions that publish events of one key
// must exclude each other, as by a lock of the row that the events are about.
func (b *Box) In(ctx context.Context, tx Tx) context.Context {
	return events.WithRecorder(ctx, func(ctx context.Context, record events.Record) error {
		return b.write(ctx, tx, record)
	})
}

// write writes a row.
func (b *Box) write(ctx context.Context, tx Tx, record events.Record) error {
	if value := reflect.ValueOf(tx); tx == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		return errors.New("there is no transaction: pass that of BeginTx to In of the outbox")
	}
	if err := b.check(ctx, tx); err != nil {
		return err
	}
	header, err := json.Marshal(record.Header)
	if err != nil {
		return err
	}
	at := ""
	if !record.At.IsZero() {
		at = record.At.UTC().Format(time.RFC3339Nano)
	}
	_, err = tx.ExecContext(ctx, b.dialect.bind("INSERT INTO "+eventsTable+
		" (publisher, path, event_key, event_id, header, arguments, deliver_at) VALUES (?, ?, ?, ?, ?, ?, ?)"),
		record.Publisher, record.Path, record.Key, record.ID, string(header), string(record.Arguments), at)
	if err != nil {
		return failed("write the event", err)
	}
	return nil
}

// Waiting is how much waits to be published.
type Waiting struct {
	Events int           // number of rows
	Failed int           // number of those that could not be published so far: see last_error of the table
	Oldest time.Duration // age of the oldest row; 0 if there is none
}

// Waiting returns how much waits to be published at this moment.
func (b *Box) Waiting(ctx context.Context) (waiting Waiting, err error) {
	if err := b.look(ctx, b.db); err != nil {
		return Waiting{}, err
	}
	var seconds float64
	counts := "SELECT count(*), count(retry_at), coalesce(" + b.dialect.words().since("min(created)") + ", 0.0) FROM " +
		eventsTable
	if err := b.db.QueryRowContext(ctx, counts).Scan(&waiting.Events, &waiting.Failed, &seconds); err != nil {
		return Waiting{}, failed("count its rows", err)
	}
	waiting.Oldest = max(0, time.Duration(seconds*float64(time.Second)))
	return waiting, nil
}
