package portal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/portal"
)

// An application that has an HTTP server mounts the ingress there, under a prefix.
func ExampleNewIngress() {
	embedded, err := broker.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer embedded.Close()
	conn, err := bus.Connect(context.Background(), "ingress", bus.WithBroker(embedded), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	ingress, err := portal.NewIngress(conn)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/bus/", http.StripPrefix("/bus", ingress))

	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/bus/", http.NoBody))
	fmt.Println(response.Code, response.Header().Get("Location"))
	// Output: 302 /bus/portal/
}
