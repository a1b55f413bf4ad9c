// Together runs two services in one process, or the one that SERVICES names. docs/recipes/together.md explains it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/recipes/together/shop"
	"github.com/busline/busline/examples/recipes/together/stock"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (failure error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	services := map[string]func(*bus.Conn) error{stock.Host: stock.Serve, shop.Host: shop.Serve}
	var conns []*bus.Conn
	defer func() {
		for _, conn := range slices.Backward(conns) {
			failure = errors.Join(failure, conn.Close(context.Background()))
		}
	}()
	for host := range strings.SplitSeq(cmp.Or(os.Getenv("SERVICES"), stock.Host+","+shop.Host), ",") {
		serve, known := services[host]
		if !known {
			return fmt.Errorf("SERVICES names %q; use %s, %s or both, with a comma between them", host, stock.Host, shop.Host)
		}
		conn, err := bus.Connect(ctx, host)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		if err := serve(conn); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	<-ctx.Done()
	return nil
}
