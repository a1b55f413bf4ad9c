package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
)

// run calls the function of a tool as the caller.
func (t *tools) run(ctx context.Context, of *tool, raw json.RawMessage,
	asked *sdk.CallToolRequest) *sdk.CallToolResult {
	args, err := parseArguments(raw)
	if err != nil {
		return refusal("/"+of.host+of.path, err)
	}
	request, err := of.request(ctx, args)
	if err != nil {
		return refusal("/"+of.host+of.path, err)
	}
	stopAfter, err := of.stopAfter(args, t.config.stream.elements)
	if err != nil {
		return refusal("/"+of.host+of.path, err)
	}
	response, err := t.conn.Do(request)
	if err != nil {
		return t.failed(request, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return t.problem(request, response)
	case of.plan.out.streams:
		return t.collect(ctx, request, response, &collecting{limit: t.config.stream, stopAfter: stopAfter, asked: asked})
	default:
		return t.result(of, request, response)
	}
}

// result returns what a function has returned.
func (t *tools) result(of *tool, request *http.Request, response *http.Response) *sdk.CallToolResult {
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(t.config.resultLimit)+1))
	switch {
	case err != nil:
		return t.failed(request, err)
	case len(body) > t.config.resultLimit:
		return t.failed(request, &bus.Error{Status: http.StatusBadGateway, Executed: bus.ExecutedYes,
			Detail: fmt.Sprintf("the function has run, and its result has more than %d bytes: ask for less, if it can be "+
				"called again", t.config.resultLimit)})
	case len(body) == 0:
		return structured([]byte("{}"))
	case !json.Valid(body):
		return t.failed(request, &bus.Error{Status: http.StatusBadGateway, Executed: bus.ExecutedYes,
			Detail: "the function has run, and its result is not JSON"})
	case of.plan.out.wrapped:
		return structured(fmt.Appendf(nil, `{%q:%s}`, resultMember, body))
	default:
		return structured(body)
	}
}

// structured returns JSON as structured content and as text.
func structured(object []byte) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(object)}},
		StructuredContent: json.RawMessage(object)}
}

// collecting is a stream on its way.
type collecting struct {
	limit     streamLimit
	stopAfter int // elements
	asked     *sdk.CallToolRequest

	elements  bytes.Buffer // as a list, without its end
	count     int
	truncated bool
}

// collect returns the elements of a stream, and notifies the client of each if it wants that. What exceeds the limit
// ends the stream, which cancels the call.
func (t *tools) collect(ctx context.Context, request *http.Request, response *http.Response,
	c *collecting) *sdk.CallToolResult {
	var late atomic.Bool
	timer := time.AfterFunc(c.limit.longest, func() {
		late.Store(true)
		_ = response.Body.Close()
	})
	defer timer.Stop()
	err := c.read(ctx, response.Body)
	if late.Load() {
		c.truncated, err = true, nil
	}
	if err != nil {
		failed := t.failed(request, err)
		failed.Content = append(failed.Content, &sdk.TextContent{Text: fmt.Sprintf("It came after %d elements: [%s]",
			c.count, c.elements.String())})
		return failed
	}
	return structured(fmt.Appendf(nil, `{%q:[%s],%q:%t}`, elementsMember, c.elements.Bytes(), truncatedMember,
		c.truncated))
}

// read reads the elements of a stream of lines.
func (c *collecting) read(ctx context.Context, body io.Reader) error {
	lines := bufio.NewReader(io.LimitReader(body, int64(c.limit.bytes)+1))
	size := 0
	for c.count < c.stopAfter {
		line, err := lines.ReadBytes('\n')
		size += len(line)
		element := bytes.TrimSpace(line)
		switch {
		case size > c.limit.bytes:
			c.truncated = true
			return nil
		case errors.Is(err, io.EOF) && len(element) == 0:
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case len(element) > 0:
			if err := c.add(ctx, element); err != nil {
				return err
			}
		}
	}
	c.truncated = true
	return nil
}

// add adds an element.
func (c *collecting) add(ctx context.Context, element []byte) error {
	if !json.Valid(element) {
		return bus.Errorf(http.StatusBadGateway, "element %d is not JSON", c.count+1)
	}
	if c.count > 0 {
		c.elements.WriteByte(',')
	}
	c.elements.Write(element)
	c.count++
	token := c.asked.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return c.asked.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token,
		Progress: float64(c.count), Message: string(element)})
}

// refusal is the result of a call that was not made.
func refusal(path string, err error) *sdk.CallToolResult {
	failed := outside.Visible(err)
	failed.Executed = bus.ExecutedNo
	return problemResult(outside.Problem(&http.Request{URL: &url.URL{Path: path}}, failed))
}

// failed is the result of a call that has no response, or not all of it.
func (t *tools) failed(request *http.Request, err error) *sdk.CallToolResult {
	t.log(err, "tool failed")
	failed := outside.Visible(err)
	failed.Path = placeOf(request)
	return problemResult(outside.Problem(request, failed))
}

// log logs an error that no client sees.
func (t *tools) log(err error, message string) {
	if bus.IsInternal(err) {
		logger := t.conn.Logger()
		logger.Error().Err(err).Msg(message)
	}
}

// problem is the result of a call that a service has refused, or that has failed there.
func (t *tools) problem(request *http.Request, response *http.Response) *sdk.CallToolResult {
	if err := outside.AdaptProblem(placeOf(request), response); err != nil {
		return t.failed(request, err)
	}
	body, err := wire.ReadAll(response.Body, t.config.resultLimit)
	if err != nil {
		return t.failed(request, err)
	}
	if outside.MediaType(response.Header) == outside.ProblemType && json.Valid(body) {
		return problemResult(body)
	}
	return t.failed(request, bus.Errorf(response.StatusCode, "%s", body))
}

// placeOf returns the path of a call as it is at the ingress.
func placeOf(request *http.Request) string {
	return "/" + request.URL.Hostname() + request.URL.EscapedPath()
}

// problemResult returns a problem as two texts: in words, and as it is. It has no structured content, as clients may
// hold that to the schema of what the tool returns.
func problemResult(problem []byte) *sdk.CallToolResult {
	var said struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(problem, &said) // what cannot be read is not said in words
	text := fmt.Sprintf("%d %s", said.Status, said.Title)
	if said.Type != "" && said.Type != "about:blank" {
		text += ", " + said.Type
	}
	if said.Detail != "" {
		text += ": " + said.Detail
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text},
		&sdk.TextContent{Text: string(problem)}}}
}
