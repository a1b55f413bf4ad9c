package natsconn

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/wire"
)

// The connections of a process that share a broker connection leave memory to each other here. With pools of its own
// each would keep some, and a pool that is used once takes 128 bytes for each core.

// Buffer returns an empty buffer to write a message in.
func (c *Conn) Buffer() *[]byte {
	if used, ok := c.buffers.Get().(*[]byte); ok {
		return used
	}
	return new([]byte)
}

// maxPooled is the largest buffer that is kept for the next message.
const maxPooled = 1 << 20

// UsualFields is how many header fields fit in a message without another allocation.
const UsualFields = 2

// Response returns memory to parse an ack or a response into.
func (c *Conn) Response() *wire.Response {
	if used, ok := c.responses.Get().(*wire.Response); ok {
		return used
	}
	response := new(struct {
		wire.Response
		fields [UsualFields]wire.Field // of its header, unless it has more
	})
	response.Header = response.fields[:0]
	return &response.Response
}

// FreeResponse takes back a response that no code has kept, unless it is large.
func (c *Conn) FreeResponse(response *wire.Response) {
	if cap(response.Header) > UsualFields {
		return
	}
	*response = wire.Response{Header: response.Header[:0]}
	c.responses.Put(response)
}

// Send publishes the content of a buffer from [Conn.Buffer], and takes the buffer back: nats.go copies it. It waits for
// room until ctx ends or within has passed. fits is false if the content is too large for one message of the broker, or
// there is an error. After an error nothing was sent.
func (c *Conn) Send(ctx context.Context, within time.Duration, subject, reply string,
	buffer *[]byte) (fits bool, err error) {
	return c.recycle(buffer, c.publish(ctx, within, subject, reply, *buffer))
}

// Large is the size from which a message is sent with SendLarge, in bytes.
const Large = 16 << 10

// SendLarge is Send for a message that encode appends to a buffer in its turn, so that many that wait to be sent hold
// no copies.
func (c *Conn) SendLarge(
	ctx context.Context, within time.Duration, subject, reply string, encode func([]byte) []byte,
) (fits bool, err error) {
	done, err := c.awaitRoom(ctx, within, c.writer.Load())
	if err != nil {
		return false, err
	}
	defer done()
	buffer := c.Buffer()
	*buffer = encode((*buffer)[:0])
	return c.recycle(buffer, c.hand(subject, reply, *buffer))
}

// SendNow is Send for small messages, such as acks, which wait for nothing: the dispatcher sends most of them.
func (c *Conn) SendNow(subject string, buffer *[]byte) (fits bool, err error) {
	return c.recycle(buffer, c.PublishNow(subject, "", *buffer))
}

func (c *Conn) recycle(buffer *[]byte, err error) (fits bool, _ error) {
	if cap(*buffer) <= maxPooled {
		c.buffers.Put(buffer)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return false, nil
	}
	return err == nil, err
}
