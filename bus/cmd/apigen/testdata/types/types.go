// Package types has a method for each kind of type.
package types

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	cash "example.com/cases/types/money"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Kinds

// Kinds of types.
type Kinds interface {
	Basic(ctx context.Context, a bool, b byte, r rune, f float32, s string, u uint64) (err error)
	Times(ctx context.Context, at time.Time, wait time.Duration) (addresses []netip.Addr, err error)
	Foreign(ctx context.Context, price cash.Amount, rates map[cash.Currency]float64) (raw json.RawMessage, err error)
	Generic(ctx context.Context, page Page[Node], pair *Pair[string, cash.Amount]) (pages []Page[Page[int]], err error)
	Lists(ctx context.Context, own List[Node], foreign cash.List[List[int]]) (err error)
	Literals(ctx context.Context, v struct {
		X int `json:"x"`
	}, a any, i interface{}, fixed [4]byte) (m map[string]map[int][]*Node, err error)
	Recursive(ctx context.Context, node Node, tree Tree) (forest Forest, err error)
	Aliases(ctx context.Context, names Names, level Level) (other cash.Other, err error)
	GetByDay(ctx context.Context, day Weekday) (httpResponseBody []Node, err error)
	GetByAddress(ctx context.Context, address netip.Addr) (httpResponseBody Embeds, err error)
}

type (
	// Page is generic.
	Page[T any] struct{ Items []T }
	// Pair is generic in two types.
	Pair[A, B any] struct {
		First  A
		Second B
	}
	// List is generic and leads back to itself.
	List[T any] struct {
		Value T
		Next  *List[T]
	}
	// Node leads back to itself.
	Node struct {
		Next     *Node
		Children map[string]Node2
		hidden   chan int
	}
	// Node2 leads back to Node.
	Node2 struct{ Parent *Node }
	// Tree is a slice of itself.
	Tree []Tree
	// Forest is a map of trees.
	Forest map[string]Tree
	// Names is an alias.
	Names = []string
	// Level is a number.
	Level int
	// Weekday is a number in a path.
	Weekday int
	// Embeds has fields of others.
	Embeds struct {
		Node
		*Node2
		inner
		time.Time `json:"time"`
		List      []inner
	}
	inner struct{ Depth int }
)

// MarshalText makes a weekday a text.
func (d Weekday) MarshalText() ([]byte, error) { return []byte{'0' + byte(d)}, nil }
