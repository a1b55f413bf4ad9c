// Foreign joins the bus with only a NATS client, as a service in any other language would: everything here follows
// docs/reference/wire.md, and nothing is imported from Busline. It calls calculator.example, and serves
// foreign.example.
//
//	go run ./examples/showcase
//	go run ./examples/foreign
//	curl 'localhost:8080/foreign.example/greet?name=Ada'
//
// The second prints
//
//	calculator.example says: 5 + 6 = 11
//	trouble.example counts: 1 2 3
//	foreign.example is on the bus; Ctrl-C takes it off
//
// and the third one
//
//	Hello, Ada!
//
// The files are named after the sections of docs/reference/wire.md: message.go, caller.go, server.go, stream.go,
// proof.go, which needs BUS_SERVICE_KEY and BUS_SERVICE_JWKS. The
// service itself is in service.go.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/nats-io/nats.go"
)

// host is what this service is called.
const host = "foreign.example"

// instance is one instance of this service.
type instance struct {
	broker *nats.Conn
	plane  string
	id     string // 10 characters, the first a letter
	keys   serviceKeys

	mu      sync.Mutex                // protects pending
	pending map[string]chan *response // calls that wait, by message id; see caller.go

	subscriptions []*nats.Subscription // see server.go
	handling      sync.WaitGroup       // requests that are being handled
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	keys, err := readServiceKeys()
	if err != nil {
		return err
	}
	broker, err := nats.Connect(cmp.Or(os.Getenv("BUS_NATS_URL"), nats.DefaultURL),
		nats.MaxReconnects(-1),    // never give up
		nats.ReconnectBufSize(-1)) // and meanwhile keep nothing that would be late
	if err != nil {
		return err
	}
	defer broker.Close()
	me := &instance{
		broker: broker,
		plane:  cmp.Or(os.Getenv("BUS_PLANE"), "bus"),
		id:     "f" + strings.ToLower(rand.Text()[:9]),
		keys:   keys,

		pending: make(map[string]chan *response),
	}
	if err := me.listen(); err != nil {
		return err
	}
	sum, err := me.add(ctx, 5, 6)
	if err != nil {
		return err
	}
	fmt.Printf("calculator.example says: 5 + 6 = %d\n", sum)
	counted, err := me.count(ctx, 3)
	if err != nil {
		return err
	}
	fmt.Printf("trouble.example counts: %s\n", counted)
	if err := me.serve(); err != nil {
		return err
	}
	fmt.Println("foreign.example is on the bus; Ctrl-C takes it off")
	<-ctx.Done()
	return me.leave()
}

// add has the calculator add two numbers.
func (i *instance) add(ctx context.Context, x, y int) (sum int, err error) {
	arguments, err := json.Marshal(map[string]int{"x": x, "y": y})
	if err != nil {
		return 0, err
	}
	answered, err := i.call(ctx, "POST", "calculator.example", "/add", arguments)
	if err != nil {
		return 0, err
	}
	if answered.status != http.StatusOK {
		return 0, fmt.Errorf("calculator.example answers %d", answered.status)
	}
	var results struct{ Sum int }
	err = json.Unmarshal(answered.body, &results)
	return results.Sum, err
}
