package simulation_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var plant = flag.Uint64("plant", 0, "in how many worlds to look for each fault; 0: only see whether the faults fit")

// faults are those of the client and of the server: what a file below bus/ says, and what it says with the fault.
var faults = []struct{ name, file, text, fault string }{
	{"the sender of an answer is not checked", "internal/client/pending.go",
		"return called == subject.HostAll || response.FromHost == called ||", "return true || response.FromHost == called ||"},
	{"a call without an ack is sent again", "internal/client/probe.go",
		`return 0, status.MayHaveRun(http.StatusServiceUnavailable, status.ErrNoAck,
			"no ack from %s within %s", p.call.host, p.call.ackWait)`, "return 0, errNoSubscriber"},
	{"a call without an answer has not run", "internal/client/pendingcall.go",
		"failed := status.MayHaveRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(),",
		"failed := status.NotRun(http.StatusGatewayTimeout, status.TimeBudgetSpent(),"},
	{"callers that leave send no cancel", "internal/client/client.go",
		"	for _, at := range from {\n		if err := c.cancel(", "	for _, at := range from[:0] {\n		if err := c.cancel("},
	{"a late ack is not answered by a cancel", "internal/client/pending.go",
		"if !c.left.remove(response.MsgID) {", "if c.left.remove(response.MsgID) || true {"},
	{"a stream is sent again when its instance has left", "internal/client/pendingcall.go",
		"case streams: // it has been sent in part, and cannot be sent again",
		"case streams && receiver == Peer{}:"},
	{"a stream whose link breaks has not run", "internal/client/upload.go",
		"u.call.fail(status.Doubtful(err))", "u.call.fail(err)"},
	{"instances are not asked for", "internal/client/probe.go",
		"	p.ask(p.call.unanswered())\n", "	_ = p.call.unanswered()\n"},
	{"the first answer ends a multicast", "internal/client/multicast.go",
		"	case s.direct:\n		return came, isComplete", "	case s.direct || s.answered > 0:\n		return came, isComplete"},
	{"there is no queue", "internal/natsconn/dispatcher.go",
		"on.ChanQueueSubscribe(s.Subject, s.Queue, d.messages)", `on.ChanQueueSubscribe(s.Subject, "", d.messages)`},
	{"requests are not acked", "internal/server/receive.go",
		"	s.acknowledge(in)\n	switch {", "	switch {"},
	{"the slot of a handler is not freed", "internal/server/handle.go",
		"	defer slots.Done()\n", ""},
	{"subscriptions end before their messages have arrived", "internal/natsconn/session.go",
		"	if s.sub.Drain() != nil || !s.sub.IsValid() {", "	if s.sub.Unsubscribe() != nil || !s.sub.IsValid() {"},
	{"a closing instance looks for streams before it leaves its queues", "close.go",
		"	c.session.Drain(ctx, func(each *natsconn.Subscription) bool { return each.Subject != own })\n" +
			"	c.broker.Barrier(ctx)\n", "	_ = own\n"},
	{"an instance closes before its handlers have ended", "close.go",
		"	await(ctx, c.server.Handlers.Close())\n", "	c.server.Handlers.Close()\n"},
	{"a lost part is not missed", "internal/stream/reader.go",
		"	case part.Number > r.next:\n", "	case part.Number > r.next && part.Number < 0:\n"},
	{"a stream that fails ends like a whole one", "internal/stream/reader.go",
		"	r.endLocked(err)\n	r.changed.Broadcast()", "	r.endLocked(io.EOF)\n	r.changed.Broadcast()"},
	{"the window is not opened", "internal/stream/reader.go",
		"	if opens {\n		r.config.Open(opened)", "	if opens && opened < 0 {\n		r.config.Open(opened)"},
	{"the end of a caller does not end its stream", "internal/client/incoming.go",
		"			in.reader.Fail(stoppedReading(ctx, in.from.Host))\n", ""},
}

// TestFaults holds that each fault fits the code and, with -plant, that the simulation finds it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("..", "..", fault.file))
			require.NoError(t, err)
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(code), fault.text), "the text in %s", fault.file)
			if *plant > 0 {
				find(t, file, strings.Replace(string(code), fault.text, fault.fault, 1))
			}
		})
	}
}

// find builds the simulation with a file that has a fault, and has it search.
func find(t *testing.T, file, code string) {
	t.Helper()
	folder := t.TempDir()
	faulty, overlay, binary := filepath.Join(folder, "faulty.go"), filepath.Join(folder, "overlay.json"),
		filepath.Join(folder, "simulation.test")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: faulty}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(faulty, []byte(code), 0o600))
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	printed, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary,
		".").CombinedOutput()
	require.NoError(t, err, string(printed))
	began := time.Now()
	search := exec.CommandContext(t.Context(), binary, "-test.run", "^TestSimulation$", "-failures", "1", "-seeds",
		fmt.Sprint(*plant))
	printed, err = search.CombinedOutput()
	found := regexp.MustCompile(`seed (\d+) .*(?:\n +([A-Z]\w+):)?`).FindSubmatch(printed)
	if assert.Error(t, err, "no world of %d breaks a promise", *plant) && assert.NotNil(t, found, string(printed)) {
		t.Logf("| %s | %s | %s | %s |", strings.TrimPrefix(t.Name(), "TestFaults/"), found[2], found[1],
			time.Since(began).Round(time.Second/10))
	}
}
