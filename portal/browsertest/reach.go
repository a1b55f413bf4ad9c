package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
)

func multicast(v *visit) error {
	var first string
	return do(v.startExamples, v.opens(noQueueHash), v.sees(".operation", "NoQueue"),
		v.awaits("three instances to pick from",
			`document.querySelectorAll('.request-form select option[value]').length === 5`),
		v.chooses(".request-form select", "*"), v.clicks(sends), v.sees(".response", "3 answers"),
		v.awaits("each its own",
			`new Set([...document.querySelectorAll(".answers pre")].map((one) => one.innerText)).size === 3`),
		v.awaits("all of them good",
			`[...document.querySelectorAll(".answers .status")].every((one) => one.innerText === "200")`),
		v.takes("multicast"),
		func() (err error) {
			first, err = v.text(`document.querySelector(".request-form select").options[2].value`)
			return err
		},
		func() error {
			return do(v.chooses(".request-form select", first), v.clicks(sends), v.sees(".response .instance", first),
				v.sees(".response pre", "NoQueue "+first))
		},
		// a queue: a single instance answers for all, and a selected one answers
		v.opens("#/messaging.example:443/GET/default-queue"), v.chooses(".request-form select", "*"), v.clicks(sends),
		v.sees(".response", "1 answer"), v.sees(".response", "An operation with a queue"),
		func() error {
			return do(v.chooses(".request-form select", first), v.clicks(sends), v.sees(".response pre", "DefaultQueue "+first))
		},
		// arguments and errors are passed on as well
		v.opens(addHash), v.chooses(".request-form select", "*"), v.fills(`[name="x"]`, "2"), v.fills(`[name="y"]`, "3"),
		v.clicks(sends),
		v.sees(".answers pre", `"sum": 5`),
		v.opens("#/trouble.example:443/POST/panic"), v.chooses(".request-form select", "*"), v.clicks(sends),
		v.sees(".answers .status", "500"), v.sees(".answers pre", "the reason is in the log"),
	)
}

// elsewhere uses the page's snippets for other tools: the Go code compiles, and the NATS message is answered.
func elsewhere(v *visit) error {
	snippet := func(name string) (text string, err error) {
		tab := map[string]string{"curl": "1", "busline": "2", "Go": "3", "TypeScript": "4", "Python": "5", "NATS": "6"}[name]
		err = do(v.clicks(".snippets .mode:nth-child("+tab+")"),
			v.awaits(name+" is shown", `document.querySelector('.snippets [aria-selected="true"]').textContent === %s`, name))
		if err != nil {
			return "", err
		}
		return v.text(`document.querySelector(".snippets code").textContent`)
	}
	var curl, golang, message string
	return do(v.startExamples, v.opens(arithmeticHash),
		v.fills(`[name="x"]`, "5"), v.fills(`[name="op"]`, `%s\n'`), v.fills(`[name="y"]`, "6"),
		func() (err error) { message, err = snippet("NATS"); return err },
		func() error { return v.overNATS(message, "400 Bad Request", `%s\\\\n'`) },
		// words of a shell, with what a shell would replace
		v.fills(`[name="op"]`, `$HOME "a" 'b' \n!`),
		func() error {
			return v.spells(snippet, "busline", "call", "--plane", v.plane, "calculator.example/arithmetic",
				`{"x":5,"op":"$HOME \"a\" 'b' \\n!","y":6}`)
		},
		func() error {
			return v.spells(snippet, "curl", "-i", v.stage.baseURL+"/calculator.example:443/arithmetic", "-H",
				"Content-Type: application/json", "--data-raw", `{"x":5,"op":"$HOME \"a\" 'b' \\n!","y":6}`)
		},
		v.fills(`[name="op"]`, "*"),
		func() error {
			return v.offers(snippet, "TypeScript", `console.log(await bus.calculator.arithmetic({x: 5, op: "*", y: 6}));`)
		},
		func() error {
			return v.offers(snippet, "Python", `data="{\"x\":5,\"op\":\"*\",\"y\":6}".encode(),`)
		},
		func() (err error) { message, err = snippet("NATS"); return err },
		func() error { return v.overNATS(message, "200 OK", `{"result":30}`) },
		func() (err error) { golang, err = snippet("Go"); return err },
		func() error { return compiles(v.stage.ctx, golang) },
		func() (err error) { curl, err = snippet("curl"); return err },
		func() error {
			want := "curl -i '" + v.stage.baseURL +
				`/calculator.example:443/arithmetic' -H 'Content-Type: application/json' --data-raw '{"x":5,"op":"*","y":6}'`
			if curl != want {
				return fmt.Errorf("curl: %s\nwant: %s", curl, want)
			}
			return nil
		},
		v.opens("#/products.example:443/PUT/products/{id}"), v.fills(`[name="id"]`, "7"), v.fills(`[name="name"]`, `T"ea`),
		func() (err error) { golang, err = snippet("Go"); return err },
		func() error { return compiles(v.stage.ctx, golang) },
		v.opens(noQueueHash), v.chooses(".request-form select", "*"),
		func() (err error) { golang, err = snippet("Go"); return err },
		func() error { return compiles(v.stage.ctx, golang) },
		func() (err error) { message, err = snippet("NATS"); return err },
		func() error { return v.overNATS(message, "200 OK", "NoQueue ") },
	)
}

// spells checks the words that a shell makes of a snippet.
func (v *visit) spells(snippet func(string) (string, error), tool string, want ...string) error {
	text, err := snippet(tool)
	if err != nil {
		return err
	}
	script := tool + "() { printf '%s\n' \"$@\"; }\n" + text
	got, err := exec.CommandContext(v.stage.ctx, "sh", "-c", script).Output() //nolint:gosec // the snippet is what is tested
	if err == nil && string(got) != strings.Join(want, "\n")+"\n" {
		err = fmt.Errorf("%s has the words\n%s\nwant\n%s", text, got, strings.Join(want, "\n"))
	}
	return err
}

// offers checks that a snippet has a line.
func (v *visit) offers(snippet func(string) (string, error), tool, line string) error {
	text, err := snippet(tool)
	if err == nil && !strings.Contains(text, line) {
		err = fmt.Errorf("no %s in\n%s", line, text)
	}
	return err
}

// overNATS runs the two commands of a snippet, with a NATS client instead of the nats command.
func (v *visit) overNATS(snippet string, wants ...string) error {
	listens, sends, _ := strings.Cut(snippet, "\n")
	printf, publish, found := strings.Cut(sends, " | nats pub --force-stdin ")
	responses, isSubscription := strings.CutPrefix(listens, "nats sub ")
	if !found || !isSubscription {
		return fmt.Errorf("not the commands: %s", snippet)
	}
	text, err := exec.CommandContext(v.stage.ctx, "sh", "-c", printf).Output() //nolint:gosec // the command is what is tested
	if err != nil {
		return fmt.Errorf("%s: %w", printf, err)
	}
	client, err := nats.Connect("", nats.InProcessServer(v.broker))
	if err != nil {
		return err
	}
	defer client.Close()
	subscription, err := client.SubscribeSync(strings.Trim(responses, "'"))
	if err != nil {
		return err
	}
	if err := client.Publish(strings.Trim(publish, "'"), text); err != nil {
		return err
	}
	ack, err := subscription.NextMsgWithContext(v.stage.ctx)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(ack.Data), "HTTP/1.1 202 ") {
		return fmt.Errorf("the ack is %s", ack.Data)
	}
	response := ack
	for strings.Contains(string(response.Data), "Bus-Op-Code: Ack") { // all instances ack, then all respond
		if response, err = subscription.NextMsgWithContext(v.stage.ctx); err != nil {
			return err
		}
	}
	for _, want := range wants {
		if !strings.Contains(string(response.Data), want) {
			return fmt.Errorf("the response to\n%s\nis %s\nwithout %s", text, response.Data, want)
		}
	}
	return nil
}

// compiles checks that a snippet of Go compiles as a program.
func compiles(ctx context.Context, snippet string) error {
	directory, err := os.MkdirTemp(".", "snippet-")
	if err != nil {
		return err
	}
	program := "package main\n\nimport " +
		"(\n\t\"bytes\"\n\t\"context\"\n\t\"fmt\"\n\t\"mime/multipart\"\n\t\"net/http\"\n\t\"net/textproto\"\n\t\"os\"\n\n\t\"github.com/busline/busline/bus\"\n)\n\n" +
		"var _ = fmt.Sprint(http.NoBody, bytes.MinRead, multipart.ErrMessageTooLarge, textproto.MIMEHeader{}, " +
		"os.Args)\n\nfunc main() { _ = call(context.Background()) }\n\n" +
		"func call(ctx context.Context) error {\n" + snippet + "\nreturn err\n}\n"
	if strings.Contains(snippet, "response, err := conn.Do") {
		program = strings.Replace(program, "\nreturn err\n", "\n_ = response\nreturn err\n", 1)
	}
	err = os.WriteFile(filepath.Join(directory, "main.go"), []byte(program), 0o600)
	if err == nil {
		var output []byte
		output, err = exec.CommandContext(ctx, "go", "vet", "./"+directory).CombinedOutput() //nolint:gosec // the directory was made here
		if err != nil {
			err = fmt.Errorf("%w: %s\n%s", err, output, program)
		}
	}
	return errors.Join(err, os.RemoveAll(directory))
}
