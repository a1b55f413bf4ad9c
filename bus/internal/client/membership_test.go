package client_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/client"
)

func TestMembership_Covered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		happens func(m *client.Membership)
		by      []client.Peer
		want    bool
	}{
		{"no known instance", func(*client.Membership) {}, []client.Peer{first}, false},
		{"it has come, and others may have come before", func(m *client.Membership) { m.Add("bus", first) },
			[]client.Peer{first}, false},
		{"a call has listened", func(m *client.Membership) { m.Reduce("bus", calculatorHost, first) },
			[]client.Peer{first, second}, true},
		{"one has come since", func(m *client.Membership) {
			m.Reduce("bus", calculatorHost, first)
			m.Add("bus", second)
		}, []client.Peer{first}, false},
		{"added twice, removed once", func(m *client.Membership) {
			m.Reduce("bus", calculatorHost, first)
			m.Add("bus", second)
			m.Add("bus", second)
			m.Remove("bus", second)
		}, []client.Peer{first}, true},
		{"another plane", func(m *client.Membership) { m.Reduce("other", calculatorHost, first) },
			[]client.Peer{first}, false},
		{"another host", func(m *client.Membership) {
			m.Reduce("bus", calculatorHost, first)
			m.Add("bus", client.Peer{Host: "other.example", ID: second.ID})
		}, []client.Peer{first}, true},
		{"reduced", func(m *client.Membership) {
			m.Add("bus", second)
			m.Reduce("bus", calculatorHost, first)
		}, []client.Peer{first}, true},
		{"forgotten", func(m *client.Membership) {
			m.Reduce("bus", calculatorHost, first)
			m.Clear()
		}, []client.Peer{first}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := client.NewMembership()
			test.happens(m)
			if got := m.Covered("bus", calculatorHost, test.by...); got != test.want {
				t.Errorf("covered by %v: %t", test.by, got)
			}
		})
	}
}

// TestMembership_Full adds hosts until some are forgotten: a host that comes afterwards is unsure until a call has
// listened.
func TestMembership_Full(t *testing.T) {
	t.Parallel()
	m := client.NewMembership()
	const perHost = 256
	for i := range client.MaxMembers + perHost {
		m.Add("bus", client.Peer{Host: "h" + strconv.Itoa(i/perHost) + ".example", ID: "i" + strconv.Itoa(i)})
	}
	if got := m.Marks(); got > client.MaxMembers {
		t.Errorf("%d marks, want at most %d", got, client.MaxMembers)
	}
	m.Add("bus", first)
	if m.Covered("bus", calculatorHost, first) {
		t.Error("an instance may be forgotten, and the host is covered")
	}
	m.Reduce("bus", calculatorHost, first, second)
	assert.False(t, m.Covered("bus", calculatorHost, first),
		"a call has listened, and the host does not have the instances that acked")
	assert.True(t, m.Covered("bus", calculatorHost, first, second))
}
