package benchmarks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkAddByName is BenchmarkAdd without types: Conn.Call takes the address apart with each call, and the arguments
// are in a map.
func BenchmarkAddByName(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			inModes(b, callersPerCore, path.clocked, path.open(b).addingByName())
		})
	}
}

func (c client) addingByName() operation {
	return func(ctx context.Context) error {
		var out addResults
		err := c.conn.Call(ctx, "https://"+serviceHost+"/add", bus.Args{"x": 5, "y": 6}, &out)
		if err == nil && out.Sum != 11 {
			err = fmt.Errorf("5 + 6 = %d", out.Sum)
		}
		return err
	}
}
