package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// finePerDay is what being late costs, in cents.
const finePerDay = 25

// fines asks another service, over whatever its client's transport is.
type fines struct{ client *http.Client }

// of returns what a reader owes who is late by so many days, in cents.
func (f fines) of(ctx context.Context, days int) (cents int, err error) {
	query := url.Values{"x": {strconv.Itoa(days)}, "op": {"*"}, "y": {strconv.Itoa(finePerDay)}}
	address := "https://calculator.example/arithmetic?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %s", address, response.Status)
	}
	var answer struct {
		Result int `json:"result"`
	}
	return answer.Result, json.NewDecoder(response.Body).Decode(&answer)
}
