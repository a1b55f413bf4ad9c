package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestList(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.refuses(3, "busline ls: nobody is on plane "+e.bus.Plane(), "ls")
	if got := e.busline(3, "ls", "--json"); got.stdout != "[]\n" {
		t.Errorf("nobody as JSON: %s", got.stdout)
	}
	calculator := e.serveCalculator()
	messaging := e.serveMessaging()
	caller := e.bus.Connect("caller.example")
	e.says(fmt.Sprintf(`HOST                INSTANCE    VERSION  PORTS
calculator.example  %s  1        443
caller.example      %s  -        -
messaging.example   %s  1        443 444
`, calculator.ID(), caller.ID(), messaging.ID()), "ls")
	e.says(fmt.Sprintf("HOST                INSTANCE    VERSION  PORTS\ncalculator.example  %s  1        443\n", calculator.ID()), "ls", "calc*", "x")
	e.refuses(3, "nobody called x or y is on plane", "ls", "x", "y")
	var listed []struct {
		Host, ID, Version string
		Ports             []int
	}
	if err := json.Unmarshal([]byte(e.busline(0, "--json", "ls").stdout), &listed); err != nil || len(listed) != 3 || listed[2].Ports[1] != 444 {
		t.Errorf("as JSON: %+v, %v", listed, err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		if err := calculatorsvc.Serve(b.Connect("calculator.example")); err != nil {
			t.Fatal(err)
		}
		for _, onTerminal := range []bool{false, true} {
			ctx, interrupt := context.WithCancel(t.Context())
			var stdout, stderr bytes.Buffer
			environment := e.environment(&stdout, &stderr)
			environment.StdoutTerminal = onTerminal
			ended := make(chan int)
			go func() { ended <- cli.Run(ctx, environment, []string{"ls", "--watch", "--every", "10s"}) }()
			time.Sleep(25 * time.Second)
			if err := calculatorsvc.Serve(b.Connect("newcomer.example")); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			interrupt()
			if status := <-ended; status != 130 || stderr.Len() > 0 {
				t.Errorf("exit status %d, and it says %s", status, stderr.String())
			}
			lists := map[bool]int{false: 2, true: 4}[onTerminal] // in a pipe only what is new
			if got := strings.Count(stdout.String(), "HOST"); got != lists || !strings.Contains(stdout.String(), "newcomer.example") {
				t.Errorf("on a terminal: %v; it prints %d lists, want %d\n%s", onTerminal, got, lists, stdout.String())
			}
		}
	})
}
