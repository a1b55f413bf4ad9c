// Embed is an existing app to which Busline was added. The app is a library (of books): it has its own HTTP server and
// mux, its own chi router, its own logger (log/slog), its own NATS connection and its own way to stop.
//
//	go run ./examples/embed
//
// It prints where to look:
//
//	http://127.0.0.1:8090/                                     the app, as it was
//	http://127.0.0.1:8090/api/books/dune                       a route of its chi router
//	http://127.0.0.1:8090/api/books/dune/fine?days=3           asks calculator.example, with a plain http.Client
//	http://127.0.0.1:8090/bus/portal/                          all that is on the bus
//	http://127.0.0.1:8090/bus/library.example/book?id=dune     a method of its struct, on the bus
//	http://127.0.0.1:8090/bus/library.example/api/books/dune   its chi router, on the bus
//	ready http://127.0.0.1:8090
//
// The code added for Busline is in busline.go, and in those lines of main.go and app.go that a comment with its
// name marks. Everything else is unchanged.
//
// HTTP_ADDR=127.0.0.1:8091 listens elsewhere. NATS_URL=nats://127.0.0.1:4222 uses a broker that is already running, for
// example that of go run ./examples/showcase; otherwise elsewhere.go starts one. These variables are the app's: Busline
// needs none.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := run(ctx, os.Stdout, settings{
		natsURL: os.Getenv("NATS_URL"),
		address: cmp.Or(os.Getenv("HTTP_ADDR"), "127.0.0.1:8090"),
		logger:  logger,
	})
	if err != nil {
		logger.Error("library", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. What was opened last is closed first: the HTTP server, then Busline, then the broker
// connection.
func run(ctx context.Context, stdout io.Writer, with settings) (err error) {
	if with.natsURL == "" {
		elsewhere, err := startElsewhere(ctx)
		if err != nil {
			return err
		}
		defer elsewhere.close()
		with.natsURL = elsewhere.natsURL
	}
	library, err := openApp(with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, library.close()) }()

	// Busline, these five lines:
	added, err := addBusline(ctx, library)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, added.close()) }()

	printSights(stdout, library.url())
	return library.serve(ctx)
}

// printSights prints the addresses to look at. The output may be closed.
func printSights(stdout io.Writer, url string) {
	for _, sight := range [][2]string{
		{"/", "the app, as it was"},
		{"/api/books/dune", "a route of its chi router"},
		{"/api/books/dune/fine?days=3", "asks calculator.example, with a plain http.Client"},
		{"/bus/portal/", "all that is on the bus"},
		{"/bus/library.example/book?id=dune", "a method of its struct, on the bus"},
		{"/bus/library.example/api/books/dune", "its chi router, on the bus"},
	} {
		fmt.Fprintf(stdout, "%s%-35s   %s\n", url, sight[0], sight[1])
	}
	fmt.Fprintln(stdout, "ready", url)
}
