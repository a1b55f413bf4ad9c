package cli

import (
	"context"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

// callFlags are the flags of call.
type callFlags struct {
	target
	all, include, raw bool
}

func (s *session) newCall() *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call <address> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Call one instance, or with --all every one",
		Long: `Calls an address such as https://calculator.example/add; https:// may be left out. The document of the host says which
method is meant, where each argument goes and which type it has; a mistake is reported before anything is called.
A path that is in no document, such as a hidden one, is called if the host serves it; its arguments are sent as text.

  x=5              an integer, a number, a boolean or a text, as the document says
  tags=a tags=b    an array
  p1.x=3           a part of an object, or line.0.n=2 of an array of them
  tags:='["a"]'    JSON as it is; for a value of any type x=5 is the text, x:=5 the number
  photo=@file      the content of a file: text, or bytes where the document says so; @- reads standard input, and
                   photo:=@file reads JSON. For a text that begins with @ write x=@@text
  id=7             fills in {id}, too: products.example/products/{id} id=7 is the same as products.example/products/7.
                   A body that has an id gets it as well; after products/7, id=7 is only that of the body
  @file, -         the whole body, from a file or from standard input; or the JSON itself, '{"x":5}'

If a path has several methods, GET is called unless only another one takes the arguments; -X chooses the method.

The answer goes to standard output: JSON indented on a terminal, else on one line; anything else as it is, on a terminal
without its control characters. An answer of status 400 or above goes to standard error, as a few lines, or unchanged with
--json. With --all each instance answers, in any order, unless a queue gives the calls of this endpoint to one of them.`,
		Example: examples(
			"busline call calculator.example/add x=5 y=6",
			"busline call calculator.example/distance p1.x=0 p1.y=0 p2:='{\"x\":3,\"y\":4}'",
			"busline call products.example/products name=Tea price=4.5 tags=hot tags=green",
			"busline call -X DELETE products.example/products/7",
			"busline call products.example/products - < product.json",
			"busline call --all messaging.example/no-queue",
			"BUS_TOKEN=$(busline token --claims '{\"roles\":[\"hr\"]}') busline call payroll.example/salary employee=ada",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			return s.call(c.Context(), &f, operands)
		},
		ValidArgsFunction: s.completing(s.completeCall),
	}
	set := c.Flags()
	f.register(set)
	set.BoolVar(&f.all, "all", false, "multicast: call every instance, and print each answer on a line with its instance")
	set.BoolVarP(&f.include, "include", "i", false, "show status and headers")
	set.BoolVar(&f.raw, "raw", false, "print the body unchanged, whatever the status")
	return c
}

// call makes one call, and prints the response.
func (s *session) call(ctx context.Context, f *callFlags, operands []string) error {
	if f.all && f.instance != "" {
		return misuse("--all and --instance cannot be combined: call every instance, or one")
	}
	if f.all && f.raw && !f.include {
		return misuse("--raw does not go with --all, which has a line for each answer: add -i for the head and the body of each")
	}
	made, err := f.prepare(ctx, s, operands)
	if err != nil {
		return err
	}
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	request, err := made.request(ctx)
	if err != nil {
		return misuse("%w", err)
	}
	if f.all {
		return s.callAll(conn, f, request)
	}
	response, err := conn.Do(request)
	if isUnanswered(err) {
		return s.hostNotFound(context.WithoutCancel(ctx), request.URL.Hostname(), err)
	}
	if err != nil {
		return err
	}
	return s.answer(f, response)
}

// answer prints one response.
func (s *session) answer(f *callFlags, response *http.Response) error {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	bad := response.StatusCode >= http.StatusBadRequest
	if f.include {
		err = s.printHead(response)
	}
	if err == nil && (!bad || f.raw || f.include) {
		err = s.printBody(f, body)
	}
	if err != nil || !bad {
		return err
	}
	if f.raw || f.include { // it has been shown
		return &failure{status: failed}
	}
	return s.answerFailed(response, body)
}
