package natsconn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/natsconn"
)

// TestConnState_Begin_Grace holds that the grace ends once for an outage, however often it is noticed.
func TestConnState_Begin_Grace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := natsconn.NewConnState()
		defer s.Stop()
		expired, changed := s.GraceExpired(), s.Change()
		s.Begin(natsconn.OutageGrace)
		assert.True(t, s.IsDown(), "the outage is not noted")
		assert.True(t, isClosed(changed))
		assert.False(t, isClosed(s.Change()))
		changed = s.Change()
		time.Sleep(natsconn.OutageGrace - 1)
		s.Begin(natsconn.OutageGrace) // goes on
		assert.False(t, isClosed(expired), "the grace ends early, or there is another change")
		assert.False(t, isClosed(changed))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !isClosed(expired) || s.GraceExpired() != expired {
			t.Error("the grace does not end")
		}
		assert.True(t, s.End(), "the end is not noted")
		assert.False(t, s.IsDown())
		assert.True(t, isClosed(changed))
		if isClosed(s.GraceExpired()) {
			t.Error("there is no grace in the next outage")
		}
		s.Begin(natsconn.OutageGrace)
		expired = s.GraceExpired()
		time.Sleep(natsconn.OutageGrace)
		synctest.Wait()
		if !isClosed(expired) {
			t.Error("the grace of the next outage does not end")
		}
	})
}

// TestConnState_End_WithinGrace holds that calls go on waiting after a short outage, and that the next one has all of
// its grace.
func TestConnState_End_WithinGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := natsconn.NewConnState()
		defer s.Stop()
		if s.End() {
			t.Error("an outage ends that has not begun")
		}
		expired := s.GraceExpired()
		s.Begin(natsconn.OutageGrace)
		time.Sleep(natsconn.OutageGrace - 1)
		assert.True(t, s.End(), "the outage does not end once")
		assert.False(t, s.End())
		time.Sleep(natsconn.OutageGrace)
		s.Begin(natsconn.OutageGrace)
		time.Sleep(natsconn.OutageGrace - 1)
		synctest.Wait()
		if isClosed(expired) || s.GraceExpired() != expired {
			t.Error("the grace ends early")
		}
	})
}

// TestConnState_Begin_ForGood holds that there is no grace when the broker will not come back.
func TestConnState_Begin_ForGood(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*natsconn.ConnState){
		"from the start":   func(*natsconn.ConnState) {},
		"within the grace": func(s *natsconn.ConnState) { s.Begin(natsconn.OutageGrace) },
		"after the grace": func(s *natsconn.ConnState) {
			s.Begin(natsconn.OutageGrace)
			time.Sleep(2 * natsconn.OutageGrace)
		},
		"after a short outage": func(s *natsconn.ConnState) { s.Begin(natsconn.OutageGrace); s.End() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := natsconn.NewConnState()
				defer s.Stop()
				before(s)
				s.Begin(0)
				assert.True(t, s.IsDown(), "the grace goes on")
				assert.True(t, isClosed(s.GraceExpired()))
				time.Sleep(2 * natsconn.OutageGrace) // no timer closes the channel again
			})
		})
	}
}

// TestConnState_IsSettling_AfterOutage holds from when until when other instances may still be reconnecting.
func TestConnState_IsSettling_AfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := natsconn.NewConnState()
		defer s.Stop()
		if s.IsSettling() {
			t.Error("it is settling from the start")
		}
		s.Begin(natsconn.OutageGrace)
		time.Sleep(time.Hour)
		if !s.IsSettling() {
			t.Error("it is not settling in an outage")
		}
		s.End()
		time.Sleep(natsconn.SettlingTime - 1)
		if !s.IsSettling() {
			t.Error("it is not settling after an outage")
		}
		time.Sleep(time.Nanosecond)
		if s.IsSettling() {
			t.Error("it goes on settling")
		}
	})
}

// TestConnState_AwaitReturn_Wait holds how long a response is held back after an outage.
func TestConnState_AwaitReturn_Wait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := natsconn.NewConnState()
		defer s.Stop()
		check := func(name string, ctx context.Context, want time.Duration) {
			t.Helper()
			start := time.Now()
			s.AwaitReturn(ctx)
			if took := time.Since(start); took != want {
				t.Errorf("%s: it took %v, want %v", name, took, want)
			}
		}
		check("without an outage", t.Context(), 0)
		s.Begin(natsconn.OutageGrace)
		s.End()
		time.Sleep(100 * time.Millisecond)
		limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		check("with a limit", limited, 50*time.Millisecond)
		check("after an outage", t.Context(), natsconn.ReturnTime-150*time.Millisecond)
		check("once more", t.Context(), 0)
	})
}

// TestConnState_Stop_Timer holds that no grace ends after stop.
func TestConnState_Stop_Timer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := natsconn.NewConnState()
		s.Stop() // has no timer
		s.Begin(natsconn.OutageGrace)
		s.Stop()
		time.Sleep(2 * natsconn.OutageGrace)
		synctest.Wait()
		if isClosed(s.GraceExpired()) {
			t.Error("the grace ends after stop")
		}
	})
}
