// Package recipetest holds the pages of docs/recipes to what the recipes answer.
package recipetest

import (
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
)

// Curl runs the commands in the console blocks of a page, "list", through an ingress, and compares what they print. It
// knows curl with -i, -X, -H, -d, -r, -F name=@file, --json, and arguments in single quotes. An "…" in the page stands
// for any text, and "$TOKEN" for the value of that name. The options are those of the ingress's connection.
func Curl(t *testing.T, b *bustest.Bus, page string, values map[string]string, options ...bus.ConnectOption) {
	t.Helper()
	entrance, err := ingress.New(b.Connect("ingress", options...))
	require.NoError(t, err)
	CurlThrough(t, entrance, page, values)
}

// CurlThrough is Curl through an ingress that a recipe has made.
func CurlThrough(t *testing.T, entrance http.Handler, page string, values map[string]string) {
	t.Helper()
	calls := transcript(t, page)
	require.NotEmpty(t, calls)
	for _, call := range calls {
		text := call.command
		for name, value := range values {
			text = strings.ReplaceAll(text, "$"+name, value)
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(call.output), "…", "(?s:.*)") + "$"
		assert.Regexp(t, pattern, curl(t, entrance, text), call.command)
	}
}

// call is a command of a page, and what it prints.
type call struct{ command, output string }

// transcript returns the calls in the console blocks of a page.
func transcript(t *testing.T, page string) (calls []call) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "recipes", page+".md"))
	require.NoError(t, err)
	for i, block := range strings.Split(string(text), "```") {
		lines, isConsole := strings.CutPrefix(block, "console\n")
		if i%2 == 0 || !isConsole {
			continue
		}
		for _, each := range strings.Split("\n"+lines, "\n$ curl ")[1:] {
			command, output, _ := strings.Cut(each, "\n")
			calls = append(calls, call{command, strings.TrimSpace(output)})
		}
	}
	return calls
}

// root returns the directory of the module Busline, seen from the test that runs.
func root(t *testing.T) string {
	t.Helper()
	directory, err := os.Getwd()
	require.NoError(t, err)
	before, _, found := strings.Cut(filepath.ToSlash(directory), "/examples/recipes/")
	require.True(t, found, directory)
	return before
}

var argument = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// curl does what the command does, and returns what it prints.
func curl(t *testing.T, handler http.Handler, arguments string) string {
	t.Helper()
	var address, method, body string
	var withHeader bool
	header := make(http.Header)
	words := argument.FindAllString(arguments, -1)
	for i := 0; i < len(words); i++ {
		switch word := strings.Trim(words[i], `'"`); word {
		case "-i":
			withHeader = true
		case "-X", "-H", "-d", "--json", "-F", "-r":
			i++
			value := strings.Trim(words[i], `'"`)
			switch name, field, _ := strings.Cut(value, ": "); word {
			case "-X":
				method = value
			case "-r":
				header.Set("Range", "bytes="+value)
			case "-F":
				body = form(t, value, header)
			case "-H":
				header.Set(name, field)
			case "-d":
				body = value
				header.Set("Content-Type", "application/x-www-form-urlencoded")
			default:
				body = value
				header.Set("Content-Type", "application/json")
			}
		default:
			address = word
		}
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	request := httptest.NewRequestWithContext(t.Context(), method, "http://"+address, strings.NewReader(body))
	request.Header = header
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return printed(t, recorder.Result(), withHeader)
}

// form returns a form with one file, "name=@plan.txt".
func form(t *testing.T, field string, header http.Header) string {
	t.Helper()
	name, file, _ := strings.Cut(field, "=@")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var text strings.Builder
	writer := multipart.NewWriter(&text)
	part, err := writer.CreateFormFile(name, filepath.Base(file))
	require.NoError(t, err)
	_, err = part.Write(content)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	header.Set("Content-Type", writer.FormDataContentType())
	return text.String()
}

// printed returns a response as curl prints it. Fields are in alphabetical order.
func printed(t *testing.T, response *http.Response, withHeader bool) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if !withHeader {
		return strings.TrimSpace(string(body))
	}
	var lines []string
	for name, values := range response.Header {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return strings.TrimSpace("HTTP/1.1 " + response.Status + "\n" + strings.Join(lines, "\n") + "\n\n" + string(body))
}
