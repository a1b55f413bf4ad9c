// Together runs two services in one process, or the one that SERVICES names. docs/recipes/together.md explains it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"slices"
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

// run runs the services, each with a connection of its own: the last one is closed first.
func run(ctx context.Context, hosts []string) error {
	chosen := slices.DeleteFunc([]bus.Service{service(stock.Host, stock.Serve), service(shop.Host, shop.Serve)},
		func(s bus.Service) bool { return !slices.Contains(hosts, s.Host) })
	if len(chosen) < len(hosts) {
		return fmt.Errorf("SERVICES names %q; use %s, %s or both, with a comma between them",
			strings.Join(hosts, ","), stock.Host, shop.Host)
	}
	return bus.RunAll(ctx, chosen)
}

func service(host string, serve func(*bus.Conn) error) bus.Service {
	return bus.Service{Host: host, Start: func(_ context.Context, conn *bus.Conn) error {
		if err := serve(conn); err != nil {
			return err
		}
		fmt.Println("ready", host)
		return nil
	}}
}
