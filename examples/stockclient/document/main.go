// Document writes the OpenAPI document of all services of the showcase to a file, as the portal shows it to a caller
// who may call everything:
//
//	go run ./document openapi.json
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/examples/stockclient/internal/services"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: document file")
	}
	if err := write(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write starts the services on a broker of their own, and asks the portal.
func write(ctx context.Context, file string) (err error) {
	directory, err := os.MkdirTemp("", "stockclient")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	identity, err := services.NewIdentity(ctx, directory)
	if err != nil {
		return err
	}
	defer identity.Close()
	embedded, err := broker.Start()
	if err != nil {
		return err
	}
	defer embedded.Close()
	var open []*bus.Conn
	defer func() {
		for _, conn := range open {
			err = errors.Join(err, conn.Close(ctx))
		}
	}()
	connect := func(host string) (*bus.Conn, error) {
		conn, err := bus.Connect(ctx, host, bus.WithBroker(embedded), bus.WithVerifier(identity.Verifier),
			bus.WithBaseURL("http://127.0.0.1:8080"), bus.WithLogger(zerolog.New(os.Stderr).Level(zerolog.WarnLevel)))
		if err == nil {
			open = append(open, conn)
		}
		return conn, err
	}
	if err := services.Start(ctx, connect); err != nil {
		return err
	}
	caller, err := connect("caller.example")
	if err != nil {
		return err
	}
	token, err := identity.Head()
	if err != nil {
		return err
	}
	document, err := ask(bus.WithActor(ctx, token), caller)
	if err != nil {
		return err
	}
	return os.WriteFile(file, document, 0o600) //nolint:gosec // the path is that of the user of the program
}

// ask returns the document, one member a line.
func ask(ctx context.Context, caller *bus.Conn) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://portal/openapi.json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := caller.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the portal answers %s: %s", response.Status, body)
	}
	var document bytes.Buffer
	if err := json.Indent(&document, body, "", "  "); err != nil {
		return nil, err
	}
	document.WriteByte('\n')
	return document.Bytes(), nil
}
