// Package call calls a service in each way that there is. docs/recipes/call.md explains when to use which.
package call

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
)

type addArguments struct {
	X int `json:"x"`
	Y int `json:"y"`
}

type addResults struct {
	Sum int `json:"sum"`
}

// Ways are the ways to have 5 and 6 added.
func Ways(ctx context.Context, conn *bus.Conn) map[string]func() (int, error) {
	return map[string]func() (int, error){
		"a generated client": func() (int, error) {
			return calculatorapi.NewClient(conn).Add(ctx, 5, 6)
		},
		"an operation": func() (int, error) {
			add := bus.NewOperation[addArguments, addResults](conn, "POST https://calculator.example/add")
			answer, err := add.Call(ctx, addArguments{5, 6})
			return answer.Results.Sum, err
		},
		"by name": func() (int, error) {
			var out struct{ Sum int }
			err := conn.Call(ctx, "https://calculator.example/add", bus.Args{"x": 5, "y": 6}, &out)
			return out.Sum, err
		},
		"http.Client": func() (sum int, err error) {
			client := http.Client{Transport: conn}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet,
				"https://calculator.example/add?x=5&y=6", http.NoBody)
			if err != nil {
				return 0, err
			}
			response, err := client.Do(request)
			if err != nil {
				return 0, err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err == nil {
				_, err = fmt.Sscanf(string(text), `{"sum":%d}`, &sum)
			}
			return sum, err
		},
		"every instance": func() (sum int, err error) {
			for answer, failed := range calculatorapi.NewClient(conn).Multicast().Add(ctx, 5, 6) {
				if sum, err = answer.Results.Sum, failed; err != nil {
					break
				}
			}
			return sum, err
		},
	}
}
