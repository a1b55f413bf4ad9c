// Command replay lives through one world of the simulation, in an order that can be repeated exactly:
//
//	go run . -seed 17              the orders from 0 to 99, until the world breaks a promise in one
//	go run . -seed 17 -order 3     that one, again
//
// Both print the history. Goroutines that wake at the same moment run in an order that Go draws, as it draws the case
// of a select and the start of a map. So the simulation is built for WebAssembly here, where Go has one thread, and
// nothing but what its host gives it: this program is the host, and its random numbers and its clock are those of the
// order.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() {
	fails, err := run(context.Background(), os.Args[1:], os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if fails {
		os.Exit(1)
	}
}

// run lives through a world in an order, or in several. It reports whether the world breaks a promise.
func run(ctx context.Context, arguments []string, stdout io.Writer) (fails bool, err error) {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "the seed of the world, from 1 on")
	order := flags.Int64("order", -1, "the only order; -1: as many as it takes")
	orders := flags.Int64("orders", 100, "how many orders to try, from 1 on")
	if err := flags.Parse(arguments); err != nil {
		return false, err
	}
	if *seed < 1 || *orders < 1 || flags.NArg() > 0 {
		flags.Usage()
		return false, errors.New("a seed and a number of orders are at least 1, and there are no other arguments")
	}
	days, err := build(ctx)
	if err != nil {
		return false, err
	}
	first, last := int64(0), *orders-1
	if *order >= 0 {
		first, last = *order, *order
	}
	var history []byte
	for each := first; each <= last; each++ {
		history, fails, err = days.live(ctx, *seed, each)
		if err != nil {
			return false, err
		}
		if fails {
			fmt.Fprintf(stdout, "%s\nmake simulate SEED=%d ORDER=%d repeats this, to the line\n", history, *seed, each)
			return true, nil
		}
	}
	fmt.Fprintf(stdout, "%s\nno promise is broken in the orders from %d to %d\n", history, first, last)
	return false, nil
}

// simulation is the compiled test of the package above.
type simulation struct {
	host   wazero.Runtime
	module wazero.CompiledModule
}

// build builds the test for WebAssembly, and compiles that for this machine, which it keeps for the next time.
func build(ctx context.Context) (*simulation, error) {
	code, err := webAssembly(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(folder, "busline", "replay"))
	if err != nil {
		return nil, err
	}
	host := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, host); err != nil {
		return nil, err
	}
	module, err := host.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.NumCPU()), code)
	return &simulation{host, module}, err
}

// webAssembly returns the test.
func webAssembly(ctx context.Context) ([]byte, error) {
	folder, err := os.MkdirTemp("", "replay-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "simulation.wasm")
	compiler := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, //nolint:gosec // a path of ours
		"github.com/busline/busline/bus/test/simulation")
	compiler.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	compiler.Dir = "../../../.." // the module of Busline
	if text, err := compiler.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c for WebAssembly: %w\n%s", err, text)
	}
	return os.ReadFile(program)
}

// live lives through the world of a seed, and returns what the test prints.
func (s *simulation) live(ctx context.Context, seed uint64, order int64) (history []byte, fails bool, err error) {
	var output bytes.Buffer
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	binary.BigEndian.PutUint64(key[8:], uint64(order))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	config := wazero.NewModuleConfig().WithName("").WithStdout(&output).WithStderr(&output).
		WithArgs("simulation", "-test.run=^TestSimulation$", "-test.v", "-seed", strconv.FormatUint(seed, 10)).
		WithRandSource(rand.NewChaCha8(key)).
		WithNanotime(func() int64 { now += int64(time.Microsecond); return now }, sys.ClockResolution(time.Microsecond)).
		WithWalltime(func() (int64, int32) { return now / 1e9, int32(now % 1e9) }, sys.ClockResolution(time.Microsecond)).
		WithNanosleep(func(pause int64) { now += pause })
	instance, err := s.host.InstantiateModule(ctx, s.module, config)
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		return output.Bytes(), exit.ExitCode() != 0, nil
	}
	if err != nil {
		return nil, false, err
	}
	return output.Bytes(), false, instance.Close(ctx)
}
