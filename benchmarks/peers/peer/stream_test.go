package peer_test

import (
	"errors"
	"io"
	"iter"
	"net"
	"testing"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// streamed is how many elements a call streams.
const streamed = 100_000

// element is what both stream: a number.
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

// countOnBus returns what streams from a service to a client of the bus.
func countOnBus(b *testing.B, options ...bus.ConnectOption) func() error {
	b.Helper()
	open := func(host string) *bus.Conn {
		conn, err := bus.Connect(b.Context(), host, options...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(b.Context()) })
		return conn
	}
	if err := bus.Serve(open("counter.example"), counting{}, bus.ParamNames("Count", "n", "")); err != nil {
		b.Fatal(err)
	}
	type arguments struct {
		N int `json:"n"`
	}
	count := bus.NewOperation[arguments, element](open("caller.example"), "POST https://counter.example/count")
	return func() error {
		next := int64(0)
		for each, err := range count.Stream(b.Context(), arguments{streamed}) {
			if err != nil || each.N != next {
				return errors.Join(err, errOrder)
			}
			next++
		}
		return countedAll(next)
	}
}

var errOrder = errors.New("an element is missing")

func countedAll(count int64) error {
	if count != streamed {
		return errOrder
	}
	return nil
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

// countByGRPC returns what streams from a server to a client of gRPC.
func countByGRPC(b *testing.B, channel grpc.ClientConnInterface) func() error {
	b.Helper()
	return func() error {
		stream, err := channel.NewStream(b.Context(), &countDesc().Streams[0], "/counter.Counter/Count")
		if err == nil {
			err = stream.SendMsg(&wrapperspb.Int64Value{Value: streamed})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		for next := int64(0); err == nil; next++ {
			each := new(wrapperspb.Int64Value)
			switch err := stream.RecvMsg(each); {
			case errors.Is(err, io.EOF):
				return countedAll(next)
			case err != nil || each.GetValue() != next:
				return errors.Join(err, errOrder)
			}
		}
		return err
	}
}

// BenchmarkElements streams 100 000 small elements in one call, over a broker on loopback TCP and over a connection of
// gRPC, and within the process.
func BenchmarkElements(b *testing.B) {
	for _, path := range []struct {
		name  string
		begin func(b *testing.B) func() error
	}{
		{"busline-broker", func(b *testing.B) func() error {
			embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(embedded.Close)
			return countOnBus(b, bus.WithURL(embedded.URL()), bus.WithoutSharing(), bus.WithoutShortCircuit())
		}},
		{"grpc", func(b *testing.B) func() error {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			server := grpc.NewServer()
			server.RegisterService(countDesc(), counting{})
			go func() { _ = server.Serve(listener) }()
			b.Cleanup(server.Stop)
			channel, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = channel.Close() })
			return countByGRPC(b, channel)
		}},
		{"busline-short-circuit", func(b *testing.B) func() error {
			embedded, err := broker.Start()
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(embedded.Close)
			return countOnBus(b, bus.WithBroker(embedded))
		}},
		{"inprocgrpc", func(b *testing.B) func() error {
			channel := new(inprocgrpc.Channel)
			channel.RegisterService(countDesc(), counting{})
			return countByGRPC(b, channel)
		}},
	} {
		b.Run(path.name, func(b *testing.B) {
			count := path.begin(b)
			for b.Loop() {
				if err := count(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streamed), "ns/element")
		})
	}
}
