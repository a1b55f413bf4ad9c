package check

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Calls are what a caller tries at a service.
func Calls() []string {
	return []string{
		"call", "parts up", "parts down", "stream up", "stream down", "40 MiB up", "40 MiB down", "method streams",
		"multicast", "event", "error", "deadline",
	}
}

// OK is the outcome of a check that found nothing.
const OK = "ok"

// Refused is how the outcome begins if there is an error that says what is not possible.
const Refused = "refused: "

// Want returns an error if what was got differs from what was expected.
func Want(what, expected, got string) error {
	if got == expected {
		return nil
	}
	return fmt.Errorf("wrong: %s is %.200q instead of %.200q", what, got, expected)
}

// Refusal returns the error of a response.
func Refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	problem := struct{ Detail, Executed string }{Executed: "yes"} // where nothing is said
	if json.Unmarshal(text, &problem) != nil {
		problem.Detail = string(text)
	}
	return fmt.Errorf("%s%d, executed %s: %s", Refused, response.StatusCode, problem.Executed, problem.Detail)
}
