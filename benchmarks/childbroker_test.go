package benchmarks_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// asBroker is set for a child of this process that is to be the broker.
const asBroker = "BUSLINE_BENCHMARKS_BROKER"

// TestMain runs the benchmarks, or is the broker of one that runs in the parent process.
func TestMain(m *testing.M) {
	if os.Getenv(asBroker) == "" {
		os.Exit(m.Run())
	}
	if err := beBroker(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beBroker runs a broker, tells its address on standard output, and ends with standard input.
func beBroker() error {
	embedded, err := broker.Start(overTCP())
	if err != nil {
		return err
	}
	defer embedded.Close()
	fmt.Println(embedded.URL())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startChildBroker runs a broker in another process as long as the benchmark.
func startChildBroker(b *testing.B) bus.ConnectOption {
	b.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asBroker+"=1")
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	b.Cleanup(func() {
		if err := errors.Join(stdin.Close(), child.Wait()); err != nil {
			b.Error(err)
		}
	})
	if err != nil {
		b.Fatalf("the broker tells no address: %v", err)
	}
	return bus.WithURL(strings.TrimSpace(url))
}
