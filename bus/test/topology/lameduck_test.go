package topology_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestLameDuck replaces each of three servers, one after the other, in lame duck mode, while calls, a stream each way
// and multicasts go on: connections move while the leaving server still serves them. Each call is answered and runs
// once, the streams are whole, the multicasts complete.
func TestLameDuck(t *testing.T) {
	t.Parallel()
	r := newRolling(t)
	var traffic sync.WaitGroup
	var isOver atomic.Bool
	repeat := func(step func()) {
		traffic.Go(func() {
			for !isOver.Load() && t.Context().Err() == nil {
				step()
			}
		})
	}
	repeat(func() { r.call(t) })
	repeat(func() { r.multicast(t) })
	traffic.Go(func() { r.download(t, r.callers[0]) })
	traffic.Go(func() { r.upload(t, r.callers[1]) })
	func() {
		defer close(r.end)
		defer isOver.Store(true)
		for i := range r.members {
			r.awaitProgress(t)
			r.replace(t, i)
		}
		r.awaitProgress(t)
	}()
	traffic.Wait()
	for n := range int(r.numbers.Load()) {
		assert.Equal(t, 1, timesOf(r.counted, n+1), "call %d", n+1)
	}
	for _, conn := range slices.Concat(r.callers, r.instances) {
		assert.Positive(t, conn.Stats().Reconnects)
	}
	kit.Eventually(t, func() bool { // each answer of an instance has come, if late
		var late int64
		for _, conn := range r.callers {
			late += conn.Stats().UnmatchedResponses
		}
		return r.answered.Load()+late >= r.multicasts.Load()*int64(len(r.instances))
	})
}

// rolling is a cluster with a caller and an instance at each server.
type rolling struct {
	members            []*server.Server
	callers, instances []*bus.Conn
	counted            *counter
	numbers            atomic.Int64 // of the calls

	called, multicasts, answered atomic.Int64 // rounds of calls, multicasts, and their answers
	downloaded, uploaded         atomic.Int64 // bytes

	pulse chan struct{} // lets a stream go on a little
	end   chan struct{} // closed for the end of the streams
	sent  chan string   // the sum of the download, by its handler
}

func newRolling(t *testing.T) *rolling {
	t.Helper()
	r := &rolling{counted: newCounter(), pulse: make(chan struct{}), end: make(chan struct{}), sent: make(chan string, 1)}
	r.members = startCluster(t, "rolling", "", "", "")
	for _, member := range r.members {
		r.callers = append(r.callers, connectTo(t, member, "caller.example"))
		r.instances = append(r.instances, connectTo(t, member, counterHost))
	}
	for _, conn := range r.instances {
		kit.Serve(t, conn, r.counted)
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()))
		require.NoError(t, conn.Handle("*", "/stream", r.stream(t)))
		awaitReach(t, conn, r.callers...)
	}
	return r
}

// stream serves both directions.
func (r *rolling) stream(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			_, _ = io.WriteString(w, sumOf(t, request.Body, &r.uploaded))
			return
		}
		body := &paced{kit.NewNumbered(1 << 40), r}
		_, err := io.Copy(w, body)
		assert.NoError(t, err, "download")
		r.sent <- hex.EncodeToString(body.Sum.Sum(nil))
	}
}

// paced is a body that goes on with the calls.
type paced struct {
	*kit.Numbered

	rolling *rolling
}

func (p *paced) Read(data []byte) (int, error) {
	select {
	case <-p.rolling.end:
		return 0, io.EOF
	case <-p.rolling.pulse:
		return p.Numbered.Read(data[:min(len(data), 1000)])
	}
}

// sumOf reads a body to its end, and counts its bytes on the way.
func sumOf(t *testing.T, body io.Reader, count *atomic.Int64) string {
	t.Helper()
	sum, data := kit.NewNumbered(0).Sum, make([]byte, 1000)
	for {
		n, err := body.Read(data)
		sum.Write(data[:n])
		count.Add(int64(n))
		if err != nil {
			assert.ErrorIs(t, err, io.EOF, "after %d bytes", count.Load())
			return hex.EncodeToString(sum.Sum(nil))
		}
	}
}

func (r *rolling) download(t *testing.T, caller *bus.Conn) {
	t.Helper()
	response, err := caller.Do(kit.MustRequest(t, "https://"+counterHost+"/stream"))
	if assert.NoError(t, err) {
		sum := sumOf(t, response.Body, &r.downloaded)
		assert.NoError(t, response.Body.Close())
		assert.Equal(t, <-r.sent, sum, "download")
	}
}

func (r *rolling) upload(t *testing.T, caller *bus.Conn) {
	t.Helper()
	body := &paced{kit.NewNumbered(1 << 40), r}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+counterHost+"/stream", body)
	assert.NoError(t, err)
	response, err := caller.Do(request)
	if assert.NoError(t, err) {
		assert.Equal(t, hex.EncodeToString(body.Sum.Sum(nil)), kit.BodyOf(t, response), "upload")
	}
}

// call has each caller call any instance, and one.
func (r *rolling) call(t *testing.T) {
	t.Helper()
	for i, caller := range r.callers {
		for _, host := range []string{counterHost, r.instances[i].ID() + "." + counterHost} {
			n := int(r.numbers.Add(1))
			same, err := count(t.Context(), caller, host, n)
			if n%7 == 0 {
				assert.Equal(t, http.StatusConflict, bus.StatusOf(err), "call %d to %s: %v", n, host, err)
			} else if assert.NoError(t, err, "call %d to %s", n, host) {
				assert.Equal(t, n, same)
			}
		}
		select {
		case r.pulse <- struct{}{}:
		default: // the streams are behind
		}
	}
	r.called.Add(1)
}

// multicast has each caller call all instances. Answers that come late, on a busy machine, are counted by the caller.
func (r *rolling) multicast(t *testing.T) {
	t.Helper()
	for _, caller := range r.callers {
		ids := kit.MulticastIDs(t, caller, "https://"+counterHost+"/who")
		assert.Subset(t, idsOf(r.instances), ids)
		assert.Equal(t, slices.Compact(slices.Clone(ids)), ids, "an instance has answered twice")
		r.answered.Add(int64(len(ids)))
		r.multicasts.Add(1)
	}
}

// awaitProgress returns when all kinds of traffic have gone on.
func (r *rolling) awaitProgress(t *testing.T) {
	t.Helper()
	for count, more := range map[*atomic.Int64]int64{&r.called: 50, &r.multicasts: 5, &r.downloaded: 10_000,
		&r.uploaded: 10_000} {
		before := count.Load()
		kit.Eventually(t, func() bool { return count.Load() >= before+more || t.Failed() })
		require.False(t, t.Failed())
	}
}

// replace has the clients of a server leave it, and returns when another one has taken its place.
func (r *rolling) replace(t *testing.T, i int) {
	t.Helper()
	leaving := r.members[i]
	address := leaving.ClusterAddr().String()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		leaving.LameDuckShutdown()
	}()
	kit.Eventually(t, func() bool { return leaving.NumClients() == 0 })
	leaving.Shutdown()
	<-ended
	var others []string
	for _, member := range r.members {
		if member != leaving {
			others = append(others, member.ClusterAddr().String())
		}
	}
	r.members[i] = startMember(t, "rolling", leaving.Name(), "", address, others...)
	awaitRoutes(t, r.members...)
	for _, instance := range r.instances {
		awaitReach(t, instance, connectTo(t, r.members[i], "probe.example"))
	}
}
