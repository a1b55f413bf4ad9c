// Together runs two services in one process, or the one that SERVICES names. docs/recipes/together.md explains it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/recipes/together/shop"
	"github.com/busline/busline/examples/recipes/together/stock"
)

func main() {
	hosts := cmp.Or(os.Getenv("SERVICES"), stock.Host+","+shop.Host)
	if err := run(context.Background(), strings.Split(hosts, ",")); err != nil {
		log.Fatal(err)
	}
}

// run runs the first service, and the others within it: the last one is closed first.
func run(ctx context.Context, hosts []string) error {
	if len(hosts) == 0 {
		fmt.Println("ready")
		return nil
	}
	services := map[string]func(*bus.Conn) error{stock.Host: stock.Serve, shop.Host: shop.Serve}
	serve, known := services[hosts[0]]
	if !known {
		return fmt.Errorf("SERVICES names %q; use %s, %s or both, with a comma between them", hosts[0], stock.Host, shop.Host)
	}
	return bus.Run(ctx, hosts[0], func(ctx context.Context, conn *bus.Conn) error {
		if err := serve(conn); err != nil {
			return err
		}
		return run(ctx, hosts[1:])
	})
}
