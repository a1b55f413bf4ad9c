package benchmarks_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// service is what is called.
type service struct{}

// Add returns the sum of x and y.
func (service) Add(x, y int) (sum int) { return x + y }

// Echo returns the text.
func (service) Echo(text string) (echo string) { return text }

func BenchmarkAdd(b *testing.B) {
	overPaths(b, func(b *testing.B, call caller) {
		var out struct{ Sum int }
		if err := call("https://service.example/add", bus.Args{"x": 5, "y": 6}, &out); err != nil || out.Sum != 11 {
			b.Errorf("%v, %v", out, err) // not Fatal: parallel callers are on goroutines of their own
		}
	})
}

func BenchmarkEcho1KiB(b *testing.B)  { benchmarkEcho(b, 1<<10) }
func BenchmarkEcho64KiB(b *testing.B) { benchmarkEcho(b, 64<<10) }

// BenchmarkEcho3MiB takes four messages of the broker in each direction.
func BenchmarkEcho3MiB(b *testing.B) { benchmarkEcho(b, 3<<20) }

// mostInFlight is how many bytes of one caller are on their way at once: a service bounds that, see bus.WithMessageLimit.
const mostInFlight = 64 << 20

func benchmarkEcho(b *testing.B, size int) {
	arguments := bus.Args{"text": strings.Repeat("a", size)}
	room := make(chan struct{}, mostInFlight/size)
	overPaths(b, func(b *testing.B, call caller) {
		room <- struct{}{}
		defer func() { <-room }()
		var out struct{ Echo string }
		if err := call("https://service.example/echo", arguments, &out); err != nil || len(out.Echo) != size {
			b.Errorf("%d bytes, %v", len(out.Echo), err)
		}
	})
}
