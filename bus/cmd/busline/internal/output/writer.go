package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/itchyny/gojq"
)

// Writer returns a writer for the JSON values of a command, one or many, that prints each as the options say as soon as
// it is complete. Texts do not control the output if it is a terminal. Close waits for the last value. An error of the
// expression, of the output, or of what is not JSON, is returned by the Write behind it, else by Close. The end of ctx
// ends an expression. The writer is not safe for concurrent use.
func (o *Options) Writer(ctx context.Context, to io.Writer, terminal bool) io.WriteCloser {
	reader, writer := io.Pipe()
	w := &valueWriter{PipeWriter: writer, done: make(chan error, 1)}
	c := &conversion{options: o, to: to, terminal: terminal}
	go func() {
		err := c.run(ctx, reader)
		_ = reader.CloseWithError(err) // it never fails
		w.done <- err
	}()
	return w
}

// valueWriter writes to a conversion.
type valueWriter struct {
	*io.PipeWriter

	done     chan error
	reported bool // Write has returned the error
}

// Write implements io.Writer.
func (w *valueWriter) Write(text []byte) (int, error) {
	n, err := w.PipeWriter.Write(text)
	w.reported = w.reported || err != nil
	return n, err
}

// Close implements io.Closer.
func (w *valueWriter) Close() error {
	_ = w.PipeWriter.Close() // it never fails
	err := <-w.done
	if w.reported {
		return nil
	}
	return err
}

// conversion prints values by the options.
type conversion struct {
	options  *Options
	to       io.Writer
	terminal bool // to is one
	printed  bool // something is
}

// run prints the values that it reads.
func (c *conversion) run(ctx context.Context, from io.Reader) error {
	for values := json.NewDecoder(from); ; {
		var value json.RawMessage
		err := values.Decode(&value)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s needs JSON, and this is none: %w", c.options.flag(), err)
		}
		if err := c.convert(ctx, value); err != nil {
			return err
		}
	}
}

// convert prints what the expression makes of a value.
func (c *conversion) convert(ctx context.Context, value json.RawMessage) error {
	if c.options.code == nil {
		return c.print(value)
	}
	input, err := decode(value)
	if err != nil {
		return err
	}
	results := c.options.code.RunWithContext(ctx, input)
	for {
		result, more := results.Next()
		if !more {
			return nil
		}
		if err, failed := result.(error); failed {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return nil
			}
			return fmt.Errorf("--jq %s: %w", c.options.expression, err)
		}
		if err := c.printResult(result); err != nil {
			return err
		}
	}
}

// decode returns a value as jq has it, with all digits of its numbers.
func decode(value json.RawMessage) (input any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	err = decoder.Decode(&input)
	return input, err
}

// printResult prints a result of the expression, a text as it is.
func (c *conversion) printResult(result any) error {
	if text, ok := result.(string); ok && c.options.format != YAML {
		if c.terminal {
			text = Clean(text)
		}
		_, err := fmt.Fprintln(c.to, text)
		return err
	}
	value, err := gojq.Marshal(result)
	if err != nil {
		return err
	}
	return c.print(value)
}

// print prints a value as a line of JSON, or as a document of YAML.
func (c *conversion) print(value []byte) error {
	text, err := c.options.Format(value)
	if err != nil {
		return err
	}
	if c.printed && c.options.format == YAML {
		text = append([]byte("---\n"), text...)
	}
	c.printed = true
	_, err = c.to.Write(text)
	return err
}

// Format returns a JSON value as a line of JSON, or as a document of YAML. The expression of jq is not for it.
func (o *Options) Format(value []byte) ([]byte, error) {
	if o.format != YAML {
		return append(value, '\n'), nil
	}
	return documentOf(value)
}
