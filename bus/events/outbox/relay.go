package outbox

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
)

// relay publishes the rows of an outbox over a connection.
type relay struct {
	*Box
	conn  *bus.Conn
	of    feature.Conn // conn
	owner string       // the instance and this call of Relay
	until time.Time    // no publishing after that: the lease ends a little later
}

// Relay publishes the events of committed transactions, each once, until ctx ends or the connection is closed; then it
// returns nil. Call it in one instance of the service or in all of them: one works at a time, and another one takes
// over when it ends, or after [Lease] if it has died. The connection may be that of another service;
// bus.Conn.Permissions has what it needs once it has published an event.
//
// Events with equal keys are published one after the other, others at the same time. A row is deleted when JetStream
// has confirmed its event. If that is not known, the log is asked before the next attempt, however much later that is.
// An event that cannot be published keeps the reason in its row, and is tried again after 1 s, and up to 10 minutes;
// meanwhile it holds up only those of its key. That and errors of the database are logged.
//
// It returns an error at once if the tables are missing or of another version.
func (b *Box) Relay(ctx context.Context, conn *bus.Conn) error {
	if conn == nil {
		return feature.Bus.NoConnection("the events of an outbox")
	}
	if err := b.look(ctx, b.db); err != nil {
		return err
	}
	r := &relay{Box: b, conn: conn, of: feature.Bus.Conn(conn), owner: conn.ID() + " " + rand.Text()[:4]}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.of.Base(), cancel)()
	defer r.release()
	for {
		began := time.Now()
		rows, err := r.round(ctx)
		wait := r.poll
		switch {
		case ctx.Err() != nil || r.of.IsClosing():
			return nil
		case err != nil:
			r.warn(err, "the outbox is not relayed; the instance keeps trying")
		case r.until.IsZero():
			wait = max(wait, r.lease/standbys) // another instance works
		case rows == nil || len(rows.rows) == 0:
			wait = max(wait, idleShare*time.Since(began))
		case rows.isFull:
			wait = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// idleShare is the pause after a round that found nothing, in times of that round: a table of rows that are held up is
// not read all the time.
const idleShare = 10

// standbys is how often in the time of a lease the other instances look whether it has ended.
const standbys = 10

// warn logs an error, unless many like it were logged a moment ago.
func (r *relay) warn(err error, message string) {
	r.of.Log(r.of.LimitedLine(zerolog.WarnLevel, message).Err(err), message)
}

// round publishes a batch of rows, if the instance has the lease or gets it, and returns it; nil for none.
func (r *relay) round(ctx context.Context) (*batch, error) {
	if !r.conn.NATS().IsConnected() { // others may reach the broker
		r.release()
		return nil, nil //nolint:nilnil // nothing is no error
	}
	if time.Until(r.until) < r.lease/2 {
		if err := r.acquire(ctx); err != nil || r.until.IsZero() {
			return nil, err
		}
	}
	rows, err := r.read(ctx)
	if err != nil || len(rows.rows) == 0 {
		return rows, err
	}
	if err := rows.prepare(ctx); err != nil {
		return nil, err
	}
	rows.publish(ctx)
	return rows, rows.finish()
}

// acquire takes the lease or renews it. The end is reckoned from before the database has, and a tenth earlier, as its
// clock may run faster. until is zero if another instance has the lease, or the tables have another version by now.
func (r *relay) acquire(ctx context.Context) error {
	ends := time.Now().Add(r.lease * 9 / 10)
	w := r.dialect.words()
	count, err := r.exec(ctx, "UPDATE "+relayTable+" SET owner = ?, expires = "+w.later+
		" WHERE id = 1 AND version = ? AND (owner = ? OR expires IS NULL OR expires < "+w.now+")",
		r.owner, r.lease.Seconds(), version, r.owner)
	if err != nil {
		return failed("take the lease", err)
	}
	r.until = time.Time{}
	if count > 0 {
		r.until = ends
		return nil
	}
	if err := r.look(ctx, r.db); err != nil {
		return err
	}
	return r.endFarLease(ctx)
}

// endFarLease ends a lease of another instance that would last for longer than any: the clock of the database was wrong
// when it was taken.
func (r *relay) endFarLease(ctx context.Context) error {
	const longest = 10 // times that of this instance
	count, err := r.exec(ctx, "UPDATE "+relayTable+" SET owner = '', expires = NULL WHERE id = 1 AND expires > "+
		r.dialect.words().later, longest*r.lease.Seconds())
	if err != nil {
		return failed("end a lease", err)
	}
	if count > 0 {
		r.of.Log(r.of.LimitedLine(zerolog.WarnLevel, "far lease"), "the lease of the outbox ended in the far future, as if "+
			"the clock of the database had been wrong: it is free now")
	}
	return nil
}

// release lets another instance relay.
func (r *relay) release() {
	if r.until.IsZero() {
		return
	}
	r.until = time.Time{}
	ctx, cancel := context.WithTimeout(context.Background(), afterwards)
	defer cancel()
	if _, err := r.exec(ctx, "UPDATE "+relayTable+" SET owner = '', expires = NULL WHERE id = 1 AND owner = ?",
		r.owner); err != nil {
		r.warn(err, "the lease of the outbox is not given back; another instance relays when it has expired")
	}
}

// afterwards bounds what is done for events that were published, also when the relay ends.
const afterwards = 5 * time.Second

// exec executes a statement and returns the number of rows.
func (r *relay) exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	result, err := r.db.ExecContext(ctx, r.dialect.bind(statement), arguments...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
