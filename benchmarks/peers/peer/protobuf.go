package peer

import (
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Messages of peers that use protobuf. They are well-known ones, so that no code has to be generated: a Duration has
// two integers, fields 1 and 2, and costs the same as message Add { int64 x = 1; int32 y = 2; } would; an Int64Value
// has one, a StringValue a text. A ReservedRange has two as well, which are an object in JSON, too.
type (
	protoAdd   = durationpb.Duration
	protoRange = descriptorpb.DescriptorProto_ReservedRange
	protoSum   = wrapperspb.Int64Value
	protoText  = wrapperspb.StringValue
)

func protoAddOf(x, y int) *protoAdd {
	return &protoAdd{Seconds: int64(x), Nanos: int32(y)}
}

func addProto(request *protoAdd) *protoSum {
	return &protoSum{Value: request.GetSeconds() + int64(request.GetNanos())}
}

func echoProto(request *protoText) *protoText {
	return &protoText{Value: request.GetValue()}
}
