package guesttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type (
	text   = wrapperspb.StringValue
	number = wrapperspb.Int32Value
)

// connectServer is a service of connect-go.
func connectServer() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/t/Echo", connect.NewUnaryHandler("/t/Echo",
		func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
			response := connect.NewResponse(wrapperspb.String(r.Msg.GetValue()))
			response.Header().Set("X-Answer", r.Header().Get("X-Own"))
			response.Trailer().Set("X-After", r.Header().Get("X-Own"))
			return response, nil
		}, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle("/t/Fail", connect.NewUnaryHandler("/t/Fail",
		func(_ context.Context, r *connect.Request[number]) (*connect.Response[text], error) {
			return nil, failing(connect.Code(r.Msg.GetValue()))
		}))
	mux.Handle("/t/Deadline", connect.NewUnaryHandler("/t/Deadline",
		func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
			at, limited := ctx.Deadline()
			return connect.NewResponse(wrapperspb.String(fmt.Sprint(limited && time.Until(at) < 9*time.Second))), nil
		}))
	step, left := make(stepwise), make(chan struct{}, 1)
	mux.HandleFunc("/next", step.next)
	mux.Handle("/t/Wait", connect.NewUnaryHandler("/t/Wait",
		func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testTimeout) // the client's time ends first
			defer cancel()
			step.wait(ctx)
			return nil, connect.NewError(connect.CodeAborted, nil)
		}))
	mux.HandleFunc("/left", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-left:
		case <-r.Context().Done():
		}
	})
	mux.Handle("/t/Count", connect.NewServerStreamHandler("/t/Count",
		func(_ context.Context, r *connect.Request[number], to *connect.ServerStream[number]) error {
			to.ResponseHeader().Set("X-Answer", "before")
			to.ResponseTrailer().Set("X-After", "after")
			for i := range r.Msg.GetValue() {
				if err := to.Send(wrapperspb.Int32(i)); err != nil {
					return err
				}
			}
			return nil
		}))
	mux.Handle("/t/CountAndFail", connect.NewServerStreamHandler("/t/CountAndFail",
		func(_ context.Context, r *connect.Request[number], to *connect.ServerStream[number]) error {
			for i := range r.Msg.GetValue() {
				if err := to.Send(wrapperspb.Int32(i)); err != nil {
					return err
				}
			}
			return failing(connect.CodeDataLoss)
		}))
	mux.Handle("/t/Steps", connect.NewServerStreamHandler("/t/Steps",
		func(ctx context.Context, _ *connect.Request[number], to *connect.ServerStream[number]) error {
			if err := to.Send(wrapperspb.Int32(1)); err != nil {
				return err
			}
			step.wait(ctx)
			return to.Send(wrapperspb.Int32(2))
		}))
	mux.Handle("/t/Endless", connect.NewServerStreamHandler("/t/Endless",
		func(_ context.Context, _ *connect.Request[number], to *connect.ServerStream[number]) error {
			for {
				if err := to.Send(wrapperspb.Int32(1)); err != nil {
					left <- struct{}{}
					return err
				}
			}
		}))
	mux.Handle("/t/Sum", connect.NewClientStreamHandler("/t/Sum",
		func(_ context.Context, from *connect.ClientStream[number]) (*connect.Response[number], error) {
			var sum int32
			for from.Receive() {
				sum += from.Msg().GetValue()
			}
			return connect.NewResponse(wrapperspb.Int32(sum)), from.Err()
		}))
	mux.Handle("/t/Chat", connect.NewBidiStreamHandler("/t/Chat",
		func(_ context.Context, between *connect.BidiStream[number, number]) error {
			for {
				message, err := between.Receive()
				if err != nil {
					return nil //nolint:nilerr // the client has ended its side
				}
				if err := between.Send(message); err != nil {
					return err
				}
			}
		}))
	return mux
}

// failing is an error with all that an error can have.
func failing(code connect.Code) error {
	err := connect.NewError(code, errors.New("refused: 100 % of it, ü"))
	if detail, failed := connect.NewErrorDetail(wrapperspb.String("detail")); failed == nil {
		err.AddDetail(detail)
	}
	err.Meta().Set("X-Meta", "meta")
	return err
}

// connectTest makes calls of connect-go in one of its protocols.
type connectTest struct {
	way     *way
	options []connect.ClientOption
}

func clientOf[In, Out any](c *connectTest, name string) *connect.Client[In, Out] {
	return connect.NewClient[In, Out](c.way.client, c.way.base+"/t/"+name, c.options...)
}

// outcome describes an error of a call.
func outcome(err error) string {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return fmt.Sprint(err)
	}
	said := failed.Code().String()
	if !connect.IsWireError(err) {
		return said
	}
	said += fmt.Sprintf(" %q %s", failed.Message(), failed.Meta().Get("X-Meta"))
	for _, detail := range failed.Details() {
		if value, err := detail.Value(); err == nil {
			said += fmt.Sprintf(" %T", value)
		}
	}
	return said
}

func (c *connectTest) echo(ctx context.Context, value string) string {
	request := connect.NewRequest(wrapperspb.String(value))
	request.Header().Set("X-Own", "sent")
	response, err := clientOf[text, text](c, "Echo").CallUnary(ctx, request)
	if err != nil {
		return outcome(err)
	}
	return fmt.Sprintf("%t %s, %s", response.Msg.GetValue() == value, response.Header().Get("X-Answer"),
		response.Trailer().Get("X-After"))
}

func (c *connectTest) fail(ctx context.Context, code int32) string {
	_, err := clientOf[number, text](c, "Fail").CallUnary(ctx, connect.NewRequest(wrapperspb.Int32(code)))
	return outcome(err)
}

func (c *connectTest) codes(ctx context.Context) string {
	var codes []string
	for code := int32(1); code <= 16; code++ {
		said, _, _ := strings.Cut(c.fail(ctx, code), " ")
		codes = append(codes, said)
	}
	return strings.Join(codes, " ")
}

func (c *connectTest) unary(ctx context.Context, name string) string {
	response, err := clientOf[text, text](c, name).CallUnary(ctx, connect.NewRequest(wrapperspb.String("")))
	if err != nil {
		said, _, _ := strings.Cut(outcome(err), " ")
		return said
	}
	return response.Msg.GetValue()
}

func (c *connectTest) tooLate(ctx context.Context) string {
	limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	said := c.unary(limited, "Wait")
	answer, err := c.way.send(ctx, nil, "POST /next")
	if err != nil {
		return failure(err)
	}
	_ = answer.Body.Close()
	return said
}

func (c *connectTest) count(ctx context.Context, name string, n int32) string {
	stream, err := clientOf[number, number](c, name).CallServerStream(ctx, connect.NewRequest(wrapperspb.Int32(n)))
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = stream.Close() }()
	received, inOrder := int32(0), true
	for ; stream.Receive(); received++ {
		inOrder = inOrder && stream.Msg().GetValue() == received
	}
	return fmt.Sprintf("%d %t %s %s %s", received, inOrder, stream.ResponseHeader().Get("X-Answer"),
		stream.ResponseTrailer().Get("X-After"), outcome(stream.Err()))
}

// steps reads the first message before it lets the handler send the second.
func (c *connectTest) steps(ctx context.Context) string {
	stream, err := clientOf[number, number](c, "Steps").CallServerStream(ctx, connect.NewRequest(wrapperspb.Int32(0)))
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = stream.Close() }()
	if !stream.Receive() {
		return outcome(stream.Err())
	}
	answer, err := c.way.send(ctx, nil, "POST /next")
	if err != nil {
		return failure(err)
	}
	_ = answer.Body.Close()
	return fmt.Sprintf("%t %t %s", stream.Receive(), stream.Receive(), outcome(stream.Err()))
}

// cancel leaves in the middle of a stream.
func (c *connectTest) cancel(ctx context.Context) string {
	streamed, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := clientOf[number, number](c, "Endless").CallServerStream(streamed,
		connect.NewRequest(wrapperspb.Int32(0)))
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = stream.Close() }()
	if !stream.Receive() {
		return outcome(stream.Err())
	}
	cancel()
	for stream.Receive() { // what has come already
	}
	answer, err := c.way.send(ctx, nil, "POST /left")
	if err != nil {
		return failure(err)
	}
	_ = answer.Body.Close()
	return fmt.Sprint(answer.StatusCode, " ", outcome(stream.Err()))
}

func (c *connectTest) sum(ctx context.Context) string {
	stream := clientOf[number, number](c, "Sum").CallClientStream(ctx)
	for i := range int32(10) {
		if err := stream.Send(wrapperspb.Int32(i)); err != nil {
			break
		}
	}
	response, err := stream.CloseAndReceive()
	if err != nil {
		return outcome(err)
	}
	return fmt.Sprint(response.Msg.GetValue())
}

// chat has streams both ways, one after the other: half duplex.
func (c *connectTest) chat(ctx context.Context) string {
	stream := clientOf[number, number](c, "Chat").CallBidiStream(ctx)
	defer func() { _ = stream.CloseResponse() }()
	if err := stream.Send(wrapperspb.Int32(1)); err != nil {
		return outcome(err)
	}
	if err := stream.CloseRequest(); err != nil {
		return outcome(err)
	}
	_, err := stream.Receive()
	return outcome(err)
}

// TestConnect makes the calls of connect's own conformance tests, in the protocols of connect-go.
func TestConnect(t *testing.T) {
	t.Parallel()
	type call = func(*connectTest, context.Context) string
	const refused = ` "refused: 100 % of it, ü" meta *wrapperspb.StringValue`
	const halfDuplex = "unknown instead of <nil>" // the handler answers 505 to HTTP/1.1
	calls := []struct {
		name             string
		do               call
		want             string
		overConn, behind string
	}{
		{"unary", func(c *connectTest, ctx context.Context) string { return c.echo(ctx, "text") }, "true sent, sent", "", ""},
		{"unary, nothing", func(c *connectTest, ctx context.Context) string { return c.echo(ctx, "") },
			"true sent, sent", "", ""},
		{"unary, 3 MB", func(c *connectTest, ctx context.Context) string {
			return c.echo(ctx, strings.Repeat("text ", 600_000))
		}, "true sent, sent", "", ""},
		{"error", func(c *connectTest, ctx context.Context) string { return c.fail(ctx, 9) },
			"failed_precondition" + refused, "", ""},
		{"codes", (*connectTest).codes, "canceled unknown invalid_argument deadline_exceeded not_found already_exists " +
			"permission_denied resource_exhausted failed_precondition aborted out_of_range unimplemented internal unavailable " +
			"data_loss unauthenticated", "", ""},
		{"unknown procedure", func(c *connectTest, ctx context.Context) string { return c.unary(ctx, "None") },
			"unimplemented", "", ""},
		{"deadline", func(c *connectTest, ctx context.Context) string { return c.unary(ctx, "Deadline") }, "false", "", ""},
		{"too late", (*connectTest).tooLate, "deadline_exceeded", "", ""},
		{"stream of 0", func(c *connectTest, ctx context.Context) string { return c.count(ctx, "Count", 0) },
			"0 true before after <nil>", "", ""},
		{"stream of 1", func(c *connectTest, ctx context.Context) string { return c.count(ctx, "Count", 1) },
			"1 true before after <nil>", "", ""},
		{"stream of 1000", func(c *connectTest, ctx context.Context) string { return c.count(ctx, "Count", 1000) },
			"1000 true before after <nil>", "", ""},
		{"error of a stream", func(c *connectTest, ctx context.Context) string { return c.count(ctx, "CountAndFail", 0) },
			"0 true   data_loss" + refused, "", ""},
		{"error after 3", func(c *connectTest, ctx context.Context) string { return c.count(ctx, "CountAndFail", 3) },
			"3 true   data_loss" + refused, "", ""},
		{"first before the end", (*connectTest).steps, "true false <nil>", "", ""},
		{"cancel in the middle", (*connectTest).cancel, "200 canceled", "", ""},
		{"client stream", (*connectTest).sum, "45", "", ""},
		{"both streams", (*connectTest).chat, "<nil>", halfDuplex, halfDuplex},
	}
	protocols := []struct {
		name    string
		options []connect.ClientOption
	}{
		{"connect", nil},
		{"connect, JSON", []connect.ClientOption{connect.WithProtoJSON()}},
		{"connect, GET", []connect.ClientOption{connect.WithHTTPGet(),
			connect.WithIdempotency(connect.IdempotencyNoSideEffects)}},
		{"connect, gzip", []connect.ClientOption{connect.WithSendGzip()}},
		{"gRPC-Web", []connect.ClientOption{connect.WithGRPCWeb()}},
		{"gRPC-Web, gzip", []connect.ClientOption{connect.WithGRPCWeb(), connect.WithSendGzip()}},
		{"gRPC", []connect.ClientOption{connect.WithGRPC()}},
	}
	var cases []comparison
	for _, protocol := range protocols {
		for _, one := range calls {
			if protocol.name == "connect, GET" && !slices.Contains([]string{"unary", "unary, nothing"}, one.name) {
				continue // only calls without side effects are made with GET
			}
			cases = append(cases, comparison{protocol.name + ": " + one.name, func(t *testing.T, w *way) []string {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
				defer cancel()
				return []string{one.do(&connectTest{w, protocol.options}, ctx)}
			}, one.want, one.overConn, one.behind})
		}
	}
	compare(t, connectServer, cases, overHTTP2)
}
