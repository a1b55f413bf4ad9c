package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lastAnswers is how long the answers to what has come may take when the input has ended.
const lastAnswers = 2 * time.Second

// stdio is standard input and output: one message in a line. What is no message is answered with an error, and does not
// end the others.
type stdio struct {
	in  *bufio.Reader
	out io.Writer

	line  []byte      // what is left of a message that is read
	ended atomic.Bool // the input

	mu       sync.Mutex // protects all below, and out
	awaited  int        // requests without an answer
	answered chan struct{}
}

func newStdio(in io.Reader, out io.Writer) *stdio {
	return &stdio{in: bufio.NewReader(in), out: out, answered: make(chan struct{}, 1)}
}

// message is what is looked at of a message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
}

// Read reads a part of a message. The end comes when what has been asked is answered, or after a while.
func (s *stdio) Read(into []byte) (int, error) {
	for len(s.line) == 0 {
		line, err := s.in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && s.admit(line) {
			line = append(line, '\n')
			s.line = line
		} else if err != nil {
			s.ended.Store(true)
			s.awaitAnswers()
			return 0, err
		}
	}
	n := copy(into, s.line)
	s.line = s.line[n:]
	return n, nil
}

// admit reports whether a line is a message, and answers it if it is none.
func (s *stdio) admit(line []byte) bool {
	var read message
	switch err := json.Unmarshal(line, &read); {
	case !json.Valid(line):
		s.refuse(nil, jsonrpc.CodeParseError, "a line that is not JSON: write one message in each line")
	case line[0] == '[':
		s.refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: write one message in each line")
	case err != nil || read.Version != "2.0" || read.Method == "" && read.ID == nil:
		s.refuse(read.ID, jsonrpc.CodeInvalidRequest, `a message is an object with "jsonrpc":"2.0" and a method`)
	default:
		if read.Method != "" && read.ID != nil {
			s.mu.Lock()
			s.awaited++
			s.mu.Unlock()
		}
		return true
	}
	return false
}

func (s *stdio) refuse(id json.RawMessage, code int64, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why)
}

// awaitAnswers waits until all requests are answered, or have taken too long.
func (s *stdio) awaitAnswers() {
	late := time.NewTimer(lastAnswers)
	defer late.Stop()
	for s.awaits() {
		select {
		case <-s.answered:
		case <-late.C:
			return
		}
	}
}

func (s *stdio) awaits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited > 0
}

// Write writes a message.
func (s *stdio) Write(line []byte) (int, error) {
	var written message
	isAnswer := json.Unmarshal(line, &written) == nil && written.Method == ""
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.out.Write(line)
	if isAnswer {
		s.awaited--
		select {
		case s.answered <- struct{}{}:
		default: // it is noted
		}
	}
	return n, err
}

// Close does nothing: the process closes both.
func (*stdio) Close() error { return nil }
