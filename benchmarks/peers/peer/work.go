package peer

import (
	"context"
	"fmt"
	"strings"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// unary is a peer whose calls have one response.
type unary struct {
	name  string
	start func(ctx context.Context, cleanup *rounds.Cleanup) (client, error)
}

// client calls one peer. It is safe for concurrent use.
type client struct {
	add  func(ctx context.Context, x, y int) (int, error)
	echo func(ctx context.Context, text string) (string, error)
}

// work is what peers have to do, and the number of callers per core.
type work struct {
	through func(client) rounds.Call
	callers int
}

// by returns a contender that does the work with a peer.
func (w work) by(peers []unary) []rounds.Contender {
	contenders := make([]rounds.Contender, len(peers))
	for i, peer := range peers {
		contenders[i] = rounds.Contender{Name: peer.name, Start: func(ctx context.Context, cleanup *rounds.Cleanup) (func() (rounds.Call, error), error) {
			client, err := peer.start(ctx, cleanup)
			return func() (rounds.Call, error) { return w.through(client), nil }, err
		}}
	}
	return contenders
}

func adding(to client) rounds.Call {
	return func(ctx context.Context) error {
		sum, err := to.add(ctx, 5, 6)
		if err == nil && sum != 11 {
			err = fmt.Errorf("5 + 6 = %d", sum)
		}
		return err
	}
}

func echoing(size int) func(client) rounds.Call {
	text := strings.Repeat("a", size)
	return func(to client) rounds.Call {
		return func(ctx context.Context) error {
			echo, err := to.echo(ctx, text)
			if err == nil && echo != text {
				err = fmt.Errorf("%d bytes came back of %d, or others", len(echo), size)
			}
			return err
		}
	}
}
