package databasetest_test

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
)

// TestOutbox_UnreadableRow has rows that cannot be read hold up those of their key alone, and say why.
func TestOutbox_UnreadableRow(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t)) // which takes any text in any column
	s.publisher(t)
	require.NoError(t, s.box.Migrate(t.Context()))
	s.publish(t, t.Context(), true, ordered{"ann", 1}, ordered{"bob", 2}, ordered{"eve", 3}, ordered{"joe", 4},
		ordered{"ann", 5}, ordered{"max", 6})
	s.exec(t, "UPDATE busline_outbox SET log_position = 'x' WHERE event_key = 'ann' AND id = 1")
	s.exec(t, "UPDATE busline_outbox SET attempts = 'x' WHERE event_key = 'bob'")
	s.exec(t, "UPDATE busline_outbox SET retry_at = 'nope' WHERE event_key = 'eve'")
	s.exec(t, "UPDATE busline_outbox SET attempts = -3, path = '/on/ordered' WHERE event_key = 'joe'")
	s.relay(t)
	until(t, "the others are stored", func() bool {
		waiting, err := s.box.Waiting(t.Context())
		require.NoError(t, err)
		return waiting.Events == 3 && waiting.Failed == 2
	})
	assert.Len(t, s.stored(t), 3)
	row := s.db.QueryRowContext(t.Context(), "SELECT last_error FROM busline_outbox WHERE id = 1")
	var reason string
	require.NoError(t, row.Scan(&reason))
	assert.Contains(t, reason, "log_position")
	s.exec(t, "UPDATE busline_outbox SET log_position = NULL, path = '/on-ordered', retry_at = NULL")
	s.drained(t)
	s.stop(t)
}

// TestOutbox_RelayTable has a relay that runs, and one that begins, see what becomes of the table of the lease.
func TestOutbox_RelayTable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, on database) {
		s := newSite(t, on)
		s.publisher(t)
		require.NoError(t, s.box.Migrate(t.Context()))
		// the instance that had the lease died, and then the clock was put right
		s.exec(t, "UPDATE busline_outbox_relay SET owner = 'dead', expires = '2999-01-01 00:00:00.000'")
		s.publish(t, t.Context(), true, ordered{"ann", 1})
		s.relay(t)
		s.drained(t)
		s.log.await(t, "far future")

		s.exec(t, "DELETE FROM busline_outbox_relay")
		s.publish(t, t.Context(), true, ordered{"ann", 2})
		const missing = "the row of the table busline_outbox_relay is missing: call Migrate"
		s.log.await(t, "is missing")
		require.ErrorContains(t, s.box.Relay(t.Context(), s.conn), missing)
		_, err := s.box.Waiting(t.Context())
		require.ErrorContains(t, err, missing)
		require.NoError(t, s.box.Migrate(t.Context()))
		s.drained(t)

		s.exec(t, "UPDATE busline_outbox_relay SET version = 7, owner = '', expires = NULL")
		s.publish(t, t.Context(), true, ordered{"ann", 3})
		s.log.await(t, "version 7")
		const another = "busline_outbox has version 7, and this program needs version 1"
		require.ErrorContains(t, s.box.Relay(t.Context(), s.conn), another)
		require.ErrorContains(t, s.box.Migrate(t.Context()), another)
		assert.Len(t, s.stored(t), 2)
		s.stop(t)
	})
}

// TestOutbox_NoText has what a database does not take as text refused before the transaction sees it.
func TestOutbox_NoText(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, on database) {
		s := newSite(t, on)
		s.publisher(t)
		require.NoError(t, s.box.Migrate(t.Context()))
		tx, err := s.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		ctx := s.box.In(t.Context(), tx)
		for name, err := range map[string]error{
			"NUL in a key": s.event.Publish(ctx, ordered{"a\x00n", 1}),
			"NUL in an id": s.event.Publish(events.WithID(ctx, "a\x00"), ordered{"ann", 1}),
			"other bytes":  s.event.Publish(events.WithID(ctx, "\xff"), ordered{"ann", 1}),
		} {
			require.ErrorContains(t, err, "cannot be kept as text", name)
			assert.Equal(t, http.StatusBadRequest, bus.StatusOf(err), name)
		}
		long := events.WithID(t.Context(), strings.Repeat("i", 66000))
		for _, ctx := range []context.Context{s.box.In(long, tx), long, events.After(long, 1e12)} {
			err := s.event.Publish(ctx, ordered{"ann", 1})
			require.ErrorContains(t, err, "shorten the id of events.WithID")
			assert.Equal(t, http.StatusRequestEntityTooLarge, bus.StatusOf(err))
		}
		require.NoError(t, s.event.Publish(ctx, ordered{"ann", 1}))
		require.NoError(t, tx.Commit())
		var none *sql.Tx
		require.ErrorContains(t, s.event.Publish(s.box.In(t.Context(), none), ordered{"ann", 1}), "there is no transaction")
		require.ErrorContains(t, s.event.Publish(s.box.In(t.Context(), nil), ordered{"ann", 1}), "there is no transaction")
	})
}
