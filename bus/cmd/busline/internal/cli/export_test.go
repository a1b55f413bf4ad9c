package cli

import (
	"encoding/json"
	"time"

	"github.com/busline/busline/reflectapi/schema"
)

// Percentile adds durations to a histogram and returns one of its percentiles.
func Percentile(share float64, times ...time.Duration) time.Duration {
	var h histogram
	for _, each := range times {
		h.add(each)
	}
	return h.percentile(share)
}

// EventSchema reads a schema of an AsyncAPI document.
func EventSchema(text string) (*schema.Schema, error) {
	read := new(eventSchema)
	err := json.Unmarshal([]byte(text), read)
	return &read.Schema, err
}
