package faulttest_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestMulticast calls very many instances at once, while one is killed and another one joins. Who is there all the time
// answers once, each time. It runs before the parallel tests: beside their load an ack may take longer than the 250 ms
// that a caller waits for it.
func TestMulticast(t *testing.T) {
	s := newSite(t, 1, brokerConfig{})
	count, rounds := pick(20, 100), pick(20, 500)
	stable := make(map[string]bool)
	for range count {
		stable[s.instance(t, 0).ID()] = true
	}
	caller, victim := s.caller(t, 0), s.remoteInstance(t, s.brokers.url(0))
	seen := multicasts{stable: stable}
	for round := range rounds {
		switch round {
		case rounds / 3:
			go victim.kill() // while the next call is made
		case rounds * 2 / 3:
			go s.instance(t, 0)
		}
		seen.add(t, caller, uint64(round))
	}
	if seen.incomplete+seen.twice+seen.failed > 0 {
		t.Errorf("of %d calls %d are incomplete; %d answers too many, %d errors", rounds, seen.incomplete,
			seen.twice, seen.failed)
	}
	figures.addRow(t, "multicast to "+strconv.Itoa(count+1)+" instances, one killed, one joining",
		"≥ 99.9 % complete, none twice",
		"%d calls, %d incomplete, %d answers twice, %d errors; %s", rounds, seen.incomplete, seen.twice, seen.failed,
		spread(seen.took))
}

// multicasts are what several of them have shown.
type multicasts struct {
	stable                    map[string]bool // who has to answer
	incomplete, twice, failed int
	took                      []time.Duration
}

// add makes one.
func (m *multicasts) add(t *testing.T, caller *bus.Conn, number uint64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://"+host+"/who?id="+strconv.FormatUint(number, 10), nil)
	require.NoError(t, err)
	began := time.Now()
	answered := make(map[string]int)
	for response, err := range caller.Multicast(request) {
		if err != nil {
			m.failed++
			t.Logf("multicast %d: %v", number, err)
			continue
		}
		answered[response.Header.Get("Bus-From-Id")]++
	}
	m.took = append(m.took, time.Since(began))
	for id, times := range answered {
		if times > 1 {
			m.twice += times - 1
			t.Logf("multicast %d: %s answered %d times", number, id, times)
		}
	}
	for id := range m.stable {
		if answered[id] == 0 {
			m.incomplete++
			t.Logf("multicast %d: %d answered, and %s did not", number, len(answered), id)
			return
		}
	}
}
