package outbox

import (
	"context"
	"fmt"
	"strings"
)

// The tables, and the version of what they look like.
const (
	eventsTable = "busline_outbox"
	relayTable  = "busline_outbox_relay"
	version     = 1
)

// Migration returns the SQL that makes the tables: busline_outbox with a row for each event that waits, and
// busline_outbox_relay with one row, which has the version of the tables and who relays. Statements end with a
// semicolon, and change nothing that is there.
func Migration(dialect Dialect) string { return strings.Join(migration(dialect), ";\n\n") + ";\n" }

func migration(dialect Dialect) []string {
	w := dialect.words()
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + eventsTable + ` (
	id           ` + w.id + `,
	created      ` + w.time + ` NOT NULL DEFAULT (` + w.now + `),
	publisher    TEXT NOT NULL,             -- 'orders.example'
	path         TEXT NOT NULL,             -- '/on-ordered'
	event_key    TEXT NOT NULL,             -- events with equal keys are published in order of id
	event_id     TEXT NOT NULL,             -- as in events.DeliveryOf
	header       TEXT NOT NULL,             -- JSON
	arguments    TEXT NOT NULL,             -- JSON
	deliver_at   TEXT NOT NULL DEFAULT '',  -- of events.At, RFC 3339
	attempts     INTEGER NOT NULL DEFAULT 0,-- that have failed
	last_error   TEXT NOT NULL DEFAULT '',
	retry_at     ` + w.time + `,            -- NULL: at once
	log_position BIGINT                     -- where the log was before an attempt that may have stored the event
)`,
		`CREATE INDEX IF NOT EXISTS busline_outbox_held ON ` + eventsTable + ` (publisher, event_key, id)
	WHERE retry_at IS NOT NULL`,
		`CREATE TABLE IF NOT EXISTS ` + relayTable + ` (
	id      INTEGER PRIMARY KEY CHECK (id = 1),
	version INTEGER NOT NULL,               -- of the tables
	owner   TEXT NOT NULL DEFAULT '',       -- the instance that relays
	expires ` + w.time + `                  -- when another one may
)`,
		fmt.Sprintf("INSERT INTO %s (id, version) VALUES (1, %d) ON CONFLICT (id) DO NOTHING", relayTable, version),
	}
}

// Migrate makes the tables if they are not there. Instances may do so at the same time.
func (b *Box) Migrate(ctx context.Context) error {
	if b.look(ctx, b.db) == nil {
		return nil
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return failed("make the tables", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	statements := migration(b.dialect)
	if lock := b.dialect.words().lock; lock != "" {
		statements = append([]string{lock}, statements...)
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return failed("make the tables", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return failed("make the tables", err)
	}
	return b.look(ctx, b.db)
}

// check is look, unless the tables were found well before.
func (b *Box) check(ctx context.Context, in querier) error {
	if b.checked.Load() {
		return nil
	}
	return b.look(ctx, in)
}

// look returns an error if the tables are missing, or of another version.
func (b *Box) look(ctx context.Context, in querier) error {
	for _, table := range []string{eventsTable, relayTable} {
		var count int
		if err := in.QueryRowContext(ctx, b.dialect.bind(b.dialect.words().exists), table).Scan(&count); err != nil {
			return failed("look for the table "+table, err)
		}
		if count == 0 {
			return fmt.Errorf("the database has no table %s: call Migrate of the outbox, or run the SQL of "+
				"outbox.Migration(outbox.%v) with your migrations", table, b.dialect)
		}
	}
	var rows, found int
	row := in.QueryRowContext(ctx, "SELECT count(*), coalesce(max(version), 0) FROM "+relayTable)
	if err := row.Scan(&rows, &found); err != nil {
		return failed("read the version of the tables", err)
	}
	if rows == 0 {
		return fmt.Errorf("the row of the table %s is missing: call Migrate of the outbox, or run the SQL of "+
			"outbox.Migration(outbox.%v), which makes it again", relayTable, b.dialect)
	}
	if found != version {
		return fmt.Errorf("the table %s has version %d, and this program needs version %d: run the SQL of the release "+
			"that the program is built with, see outbox.Migration, or a program of the release that has made the table",
			eventsTable, found, version)
	}
	b.checked.Store(true)
	return nil
}

// failed returns the error of an access to the database.
func failed(what string, err error) error { return fmt.Errorf("the outbox cannot %s: %w", what, err) }
