package client_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/client"
)

func TestResponders_Names(t *testing.T) {
	t.Parallel()
	const to = "subject"
	for _, test := range []struct {
		name    string
		happens func(r *client.Responders)
		want    []string
	}{
		{"answered", func(r *client.Responders) { r.Begin(to, "1")("a", "b") }, []string{"a", "b"}},
		{"no answer to the next multicast", func(r *client.Responders) {
			r.Begin(to, "1")("a", "b")
			r.Begin(to, "2")("a")
		}, []string{"a"}},
		{"late ack", func(r *client.Responders) {
			r.Begin(to, "1")("a")
			r.Late("1", "b")
		}, []string{"a", "b"}},
		{"late ack during the next multicast", func(r *client.Responders) {
			r.Begin(to, "1")("a")
			end := r.Begin(to, "2")
			r.Late("1", "b")
			end("a")
		}, []string{"a", "b"}},
		{"late ack of a multicast without an end", func(r *client.Responders) {
			r.Begin(to, "1")
			r.Late("1", "b")
		}, nil},
		{"late ack of an unknown multicast", func(r *client.Responders) {
			r.Begin(to, "1")("a")
			r.Late("2", "b")
		}, []string{"a"}},
		{"greeting", func(r *client.Responders) {
			r.Begin(to, "1")("a")
			r.Greet()
		}, nil},
		{"greeting during a multicast", func(r *client.Responders) {
			r.Begin(to, "1")("a")
			end := r.Begin(to, "2")
			r.Greet()
			end("a")
		}, nil},
		{"late ack of a forgotten multicast", func(r *client.Responders) {
			r.Begin(to, "old")("a")
			for i := range 5000 {
				r.Begin(to, strconv.Itoa(i))("a")
			}
			r.Late("old", "b")
		}, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := client.NewResponders()
			test.happens(r)
			if got := r.Names(to); !slices.Equal(got, test.want) {
				t.Errorf("the responders are %v, want %v", got, test.want)
			}
		})
	}
}

// TestResponders_MaxKnownSubjects multicasts to ever new paths of one host.
func TestResponders_MaxKnownSubjects(t *testing.T) {
	t.Parallel()
	r := client.NewResponders()
	for i := range 3 * client.MaxKnownSubjects {
		path := strconv.Itoa(i)
		r.Begin(path, path)("a")
	}
	known, ofHost := r.Subjects()
	assert.Equal(t, client.MaxKnownSubjects, known)
	assert.Equal(t, known, ofHost)
	r.Greet()
	known, ofHost = r.Subjects()
	assert.Zero(t, known)
	assert.Zero(t, ofHost)
}
