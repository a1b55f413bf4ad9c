package main_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/busline/busline/examples/internal/exampletest"
)

// TestProgram runs the program with nothing installed, opens what it prints, and holds what main.go says to it. What
// the environment sets for Busline is of no use here, and does no harm: the app decides.
func TestProgram(t *testing.T) {
	t.Parallel()
	library := exampletest.Start(t, exampletest.Build(t, "."), "HTTP_ADDR=127.0.0.1:0", "NATS_URL=",
		"BUS_NATS_URL=nats://127.0.0.1:1", "BUS_NATS_CREDS=missing", "BUS_NATS_USER=nobody",
		"BUS_HTTP_ADDR=nowhere", "BUS_LOG_LEVEL=loud", "BUS_LOG_FORMAT=odd")
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	first := library.Await("http://")
	baseURL := "http://" + strings.TrimSuffix(strings.Fields(first)[0], "/")
	printed := []string{"http://" + first}
	for range 5 {
		printed = append(printed, "http://"+library.Await("http://"))
	}
	for _, line := range printed {
		documented := strings.Replace(line, baseURL, "http://127.0.0.1:8090", 1)
		if !strings.Contains(string(source), "//\t"+documented+"\n") {
			t.Errorf("main.go does not say that this is printed: %s", documented)
		}
	}
	if ready := library.Await("ready "); ready != baseURL {
		t.Errorf("ready at %s, want %s", ready, baseURL)
	}
	for _, line := range printed {
		url := strings.Fields(line)[0]
		response, answer := send(t, &http.Transport{DisableKeepAlives: true}, "GET", url)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s %s", url, response.Status, answer)
		}
	}
	library.Stop()
}

// TestAddressTaken holds that an app which cannot start says why, and leaves nothing behind; TestMain looks.
func TestAddressTaken(t *testing.T) {
	t.Parallel()
	l := open(t)
	addr := strings.TrimPrefix(l.server.URL, "http://")
	library := exampletest.Start(t, exampletest.Build(t, "."), "HTTP_ADDR="+addr, "NATS_URL="+l.bus.Broker().URL())
	if status, stderr := library.Wait(); status != 1 || !strings.Contains(stderr, addr) {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
}
