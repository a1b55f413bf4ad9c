package peer

import (
	"context"

	"google.golang.org/grpc"
)

// calculatorServer is the interface that protoc-gen-go-grpc would generate for the service.
type calculatorServer interface {
	Add(ctx context.Context, request *protoAdd) (*protoSum, error)
	AddRange(ctx context.Context, request *protoRange) (*protoSum, error)
	Echo(ctx context.Context, request *protoText) (*protoText, error)
}

// calculator implements calculatorServer.
type calculator struct{}

func (calculator) Add(_ context.Context, request *protoAdd) (*protoSum, error) {
	return addProto(request), nil
}

func (calculator) AddRange(_ context.Context, request *protoRange) (*protoSum, error) {
	return &protoSum{Value: int64(request.GetStart()) + int64(request.GetEnd())}, nil
}

func (calculator) Echo(_ context.Context, request *protoText) (*protoText, error) {
	return echoProto(request), nil
}

const (
	grpcAdd      = "/calculator.Calculator/Add"
	grpcAddRange = "/calculator.Calculator/AddRange"
	grpcEcho     = "/calculator.Calculator/Echo"
)

// calculatorDesc describes the service, as generated code does.
func calculatorDesc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "calculator.Calculator",
		HandlerType: (*calculatorServer)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Add", Handler: grpcHandler(grpcAdd, calculatorServer.Add)},
			{MethodName: "AddRange", Handler: grpcHandler(grpcAddRange, calculatorServer.AddRange)},
			{MethodName: "Echo", Handler: grpcHandler(grpcEcho, calculatorServer.Echo)},
		},
	}
}

// grpcHandler decodes a request and calls a method, through the interceptor if there is one.
func grpcHandler[Request, Response any](name string,
	method func(calculatorServer, context.Context, *Request) (*Response, error)) grpc.MethodHandler {
	return func(server any, ctx context.Context, decode func(any) error,
		interceptor grpc.UnaryServerInterceptor) (any, error) {
		request := new(Request)
		if err := decode(request); err != nil {
			return nil, err
		}
		handler := func(ctx context.Context, request any) (any, error) {
			return method(server.(calculatorServer), ctx, request.(*Request)) //nolint:forcetypeassert // grpc has checked both
		}
		if interceptor == nil {
			return handler(ctx, request)
		}
		return interceptor(ctx, request, &grpc.UnaryServerInfo{Server: server, FullMethod: name}, handler)
	}
}

// grpcClient calls like generated code.
func grpcClient(channel grpc.ClientConnInterface) client {
	return client{
		add: func(ctx context.Context, x, y int) (int, error) {
			sum := new(protoSum)
			err := channel.Invoke(ctx, grpcAdd, protoAddOf(x, y), sum, grpc.StaticMethod())
			return int(sum.GetValue()), err
		},
		echo: func(ctx context.Context, text string) (string, error) {
			echo := new(protoText)
			err := channel.Invoke(ctx, grpcEcho, &protoText{Value: text}, echo, grpc.StaticMethod())
			return echo.GetValue(), err
		},
	}
}
