package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
)

// elements is how many a call streams.
const elements = 1000

// element is what Busline streams: a number.
type element struct {
	N int64 `json:"n"`
}

// counting streams.
type counting struct{}

// Count yields the numbers below n.
func (counting) Count(n int) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		for i := range n {
			if !yield(element{N: int64(i)}, nil) {
				return
			}
		}
	}
}

// streaming returns contenders that stream: over a broker and over a connection of gRPC, or within the process.
func streaming(within bool) []rounds.Contender {
	if within {
		return []rounds.Contender{
			{Name: localFloor, Start: func(context.Context, *rounds.Setup) (func() (rounds.Call, error), error) {
				channel := new(inprocgrpc.Channel)
				channel.RegisterService(countDesc(), counting{})
				return sharing(countByGRPC(channel)), nil
			}},
			{Name: "busline, short circuit",
				Start: func(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
					embedded, err := embedBroker(setup)
					if err != nil {
						return nil, err
					}
					return countOnBus(ctx, setup, bus.WithBroker(embedded))
				}},
		}
	}
	return []rounds.Contender{
		{Name: rival, Start: func(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
			address, err := serveGRPC(ctx, setup, countDesc(), counting{})
			if err != nil {
				return nil, err
			}
			channel, err := connectGRPC(address, setup)
			if err != nil {
				return nil, err
			}
			return sharing(countByGRPC(channel)), nil
		}},
		{Name: "busline", Start: func(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
			url, err := startBroker(ctx, "", setup)
			if err != nil {
				return nil, err
			}
			return countOnBus(ctx, setup, bus.WithURL(url), bus.WithoutSharing())
		}},
	}
}

// sharing has all callers make the same call.
func sharing(call rounds.Call) func() (rounds.Call, error) {
	return func() (rounds.Call, error) { return call, nil }
}

// countOnBus streams from a service to a client of the bus.
func countOnBus(ctx context.Context, setup *rounds.Setup, options ...bus.ConnectOption) (func() (rounds.Call, error),
	error) {
	server, err := connectBusline(ctx, setup, "counter.example", options)
	if err != nil {
		return nil, err
	}
	if err := bus.Serve(server, counting{}, bus.ParamNames("Count", "n", "")); err != nil {
		return nil, err
	}
	caller, err := connectBusline(ctx, setup, "caller.example", options)
	if err != nil {
		return nil, err
	}
	type arguments struct {
		N int `json:"n"`
	}
	count := bus.NewOperation[arguments, element](caller, "POST https://counter.example/count")
	return sharing(func(ctx context.Context) error {
		next := int64(0)
		for each, err := range count.Stream(ctx, arguments{elements}) {
			if err != nil || each.N != next {
				return errors.Join(err, fmt.Errorf("element %d came in place of %d", each.N, next))
			}
			next++
		}
		return checkCount(next)
	}), nil
}

// countDesc describes the same service for gRPC, as generated code does.
func countDesc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "counter.Counter", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Count", ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				request := new(wrapperspb.Int64Value)
				if err := stream.RecvMsg(request); err != nil {
					return err
				}
				for i := range request.GetValue() {
					if err := stream.SendMsg(&wrapperspb.Int64Value{Value: i}); err != nil {
						return err
					}
				}
				return nil
			}}},
	}
}

// countByGRPC streams from a server to a client of gRPC.
func countByGRPC(channel grpc.ClientConnInterface) rounds.Call {
	return func(ctx context.Context) error {
		stream, err := channel.NewStream(ctx, &countDesc().Streams[0], "/counter.Counter/Count")
		if err == nil {
			err = stream.SendMsg(&wrapperspb.Int64Value{Value: elements})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		for next := int64(0); err == nil; next++ {
			each := new(wrapperspb.Int64Value)
			switch err := stream.RecvMsg(each); {
			case errors.Is(err, io.EOF):
				return checkCount(next)
			case err != nil || each.GetValue() != next:
				return errors.Join(err, fmt.Errorf("element %d came in place of %d", each.GetValue(), next))
			}
		}
		return err
	}
}

func checkCount(count int64) error {
	if count != elements {
		return fmt.Errorf("%d elements of %d came", count, elements)
	}
	return nil
}
