package peer

import (
	"context"
	"fmt"
	"strings"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// client calls one peer. add and echo are safe for concurrent use.
type client struct {
	add      func(ctx context.Context, x, y int) (int, error)
	echo     func(ctx context.Context, text string) (string, error)
	newAdder func() (func(ctx context.Context, x, y int) (int, error), error) // for one caller; nil if all share add
}

// work is what peers have to do.
type work func(client) (rounds.Call, error)

// by returns a contender for each peer that does the work.
func (w work) by(start starter, peers []peer) []rounds.Contender {
	contenders := make([]rounds.Contender, len(peers))
	for i, each := range peers {
		contenders[i] = rounds.Contender{Name: each.name,
			Start: func(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
				client, err := each.start(ctx, start, setup)
				return func() (rounds.Call, error) { return w(client) }, err
			}}
	}
	return contenders
}

func adding(to client) (rounds.Call, error) {
	add := to.add
	if to.newAdder != nil {
		var err error
		if add, err = to.newAdder(); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		sum, err := add(ctx, 5, 6)
		if err == nil && sum != 11 {
			err = fmt.Errorf("5 + 6 = %d", sum)
		}
		return err
	}, nil
}

func echoing(size int) work {
	text := strings.Repeat("a", size)
	return func(to client) (rounds.Call, error) {
		return func(ctx context.Context) error {
			echo, err := to.echo(ctx, text)
			if err == nil && echo != text {
				err = fmt.Errorf("%d bytes came back of %d, or others", len(echo), size)
			}
			return err
		}, nil
	}
}
