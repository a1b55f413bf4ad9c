package guesttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	words struct {
		Text string `json:"text"`
	}
	nothing struct{}
)

// mcpServer has tools of an MCP server with sessions.
func mcpServer() http.Handler {
	step, left := make(stepwise), make(chan struct{}, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "guest", Version: "v1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "upper", Description: "Makes letters large."},
		func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, words, error) {
			return nil, words{strings.ToUpper(in.Text)}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail"},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, nothing, error) {
			return nil, nothing{}, errors.New("the tool is broken")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "slow"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, words, error) {
			for i := range 3 {
				progress := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i),
					Total: 3, Message: "on the way"}
				if err := r.Session.NotifyProgress(ctx, progress); err != nil {
					return nil, words{}, err
				}
				step.wait(ctx)
			}
			return nil, words{"done"}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest,
		_ nothing) (*mcp.CallToolResult, words, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "go on?",
			RequestedSchema: map[string]any{"type": "object"}})
		if err != nil {
			return nil, words{}, err
		}
		return nil, words{answer.Action}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, nothing, error) {
			if err := r.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken()}); err != nil {
				return nil, nothing{}, err
			}
			<-ctx.Done()
			left <- struct{}{}
			return nil, nothing{}, ctx.Err()
		})
	mcp.AddTool(server, &mcp.Tool{Name: "grow"},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, nothing, error) {
			server.AddPrompt(&mcp.Prompt{Name: "another"}, nil)
			return nil, nothing{}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "greet"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "greets"}, nil
		})
	server.AddResource(&mcp.Resource{URI: "test:///large", Name: "large"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:///large",
				Text: strings.Repeat("text", 1<<19)}}}, nil
		})
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	mux.HandleFunc("/next", step.next)
	mux.HandleFunc("/left", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-left:
		case <-r.Context().Done():
		}
	})
	return mux
}

// clientNotices is what a client receives beside the answers to its calls.
type clientNotices struct {
	progress, prompts chan string
}

// session has an MCP client do something in a session of its own.
func session(do func(ctx context.Context, w *way, session *mcp.ClientSession,
	notices clientNotices) (string, error)) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		notices := clientNotices{make(chan string, 10), make(chan string, 10)}
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				notices.progress <- fmt.Sprintf("%g of %g %s", r.Params.Progress, r.Params.Total, r.Params.Message)
			},
			PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { notices.prompts <- "changed" },
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
		})
		opened, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.base + "/mcp", HTTPClient: w.client,
			MaxRetries: -1}, nil)
		if err != nil {
			return []string{"connect: " + failure(err)}
		}
		said, err := do(ctx, w, opened, notices)
		if err != nil {
			said += failure(err)
		}
		if err := opened.Close(); err != nil {
			said += " close: " + failure(err)
		}
		return []string{said}
	}
}

// listen waits for a notice to a client.
func listen(ctx context.Context, from chan string) string {
	select {
	case said := <-from:
		return said
	case <-ctx.Done():
		return "nothing"
	}
}

// tool calls a tool.
func tool(ctx context.Context, session *mcp.ClientSession, name string, arguments any) (string, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken("token")
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return fmt.Sprint(strings.Join(texts, " "), " ", result.IsError), nil
}

// goOn lets a handler go on, or waits for it, by a path.
func goOn(ctx context.Context, w *way, path string) error {
	answer, err := w.send(ctx, nil, "POST "+path)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func progressing(ctx context.Context, w *way, session *mcp.ClientSession, notices clientNotices) (string, error) {
	var progress []string
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for range 3 { // each before the tool continues
			progress = append(progress, listen(ctx, notices.progress))
			if err := goOn(ctx, w, "/next"); err != nil {
				failed <- err
				return
			}
		}
	}()
	result, err := tool(ctx, session, "slow", nothing{})
	if err != nil {
		return "", err
	}
	err = <-failed
	return strings.Join(append(progress, result), ", "), err
}

func cancelling(ctx context.Context, w *way, session *mcp.ClientSession, notices clientNotices) (string, error) {
	cancelled, cancel := context.WithCancel(ctx)
	go func() {
		listen(ctx, notices.progress)
		cancel()
	}()
	_, err := tool(cancelled, session, "wait", nothing{})
	return failure(err), goOn(ctx, w, "/left")
}

func ended(ctx context.Context, w *way, session *mcp.ClientSession, _ clientNotices) (string, error) {
	id := "Mcp-Session-Id: " + session.ID()
	var statuses []string
	for _, method := range []string{"DELETE", "POST", "DELETE"} {
		response, err := w.send(ctx, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}`), method+" /mcp", id,
			"Content-Type: application/json", "Accept: application/json, text/event-stream")
		if err != nil {
			return "", err
		}
		statuses = append(statuses, w.describe(response)[0])
	}
	return strings.Join(statuses, " "), nil
}

// TestMCP has a client of the SDK talk to a server with sessions. Guests have one instance here: the state of a session
// is in one process.
func TestMCP(t *testing.T) {
	t.Parallel()
	const accept, json = "Accept: application/json, text/event-stream", "Content-Type: application/json"
	initialize := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	compare(t, mcpServer, []comparison{
		{"initialize", session(func(_ context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			return fmt.Sprint(s.InitializeResult().ServerInfo.Name, " ", s.ID() != ""), nil
		}), "guest true", "", ""},
		{"ping", session(func(ctx context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			return "pong", s.Ping(ctx, nil)
		}), "pong", "", ""},
		{"tools", session(func(ctx context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			list, err := s.ListTools(ctx, nil)
			if err != nil {
				return "", err
			}
			var names []string
			for _, one := range list.Tools {
				names = append(names, one.Name)
			}
			slices.Sort(names)
			return strings.Join(names, " "), nil
		}), "ask fail grow slow upper wait", "", ""},
		{"tool", session(func(ctx context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			return tool(ctx, s, "upper", words{"text"})
		}), `{"text":"TEXT"} false`, "", ""},
		{"tool that fails", session(func(ctx context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			return tool(ctx, s, "fail", nothing{})
		}), "the tool is broken true", "", ""},
		{"tool that is not there", session(func(ctx context.Context, _ *way, s *mcp.ClientSession,
			_ clientNotices) (string, error) {
			return tool(ctx, s, "none", nothing{})
		}), "broken", "", ""},
		{"progress of a tool", session(progressing),
			`0 of 3 on the way, 1 of 3 on the way, 2 of 3 on the way, {"text":"done"} false`, "", ""},
		{"tool that asks its client", session(func(ctx context.Context, _ *way, s *mcp.ClientSession,
			_ clientNotices) (string, error) {
			return tool(ctx, s, "ask", nothing{})
		}), `{"text":"accept"} false`, "", ""},
		{"cancelled tool", session(cancelling), "cancelled", "", ""},
		{"notice outside of a call", session(func(ctx context.Context, _ *way, s *mcp.ClientSession,
			notices clientNotices) (string, error) {
			if _, err := tool(ctx, s, "grow", nothing{}); err != nil {
				return "", err
			}
			return listen(ctx, notices.prompts), nil
		}), "changed", "", ""},
		{"prompt", session(func(ctx context.Context, _ *way, s *mcp.ClientSession, _ clientNotices) (string, error) {
			prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
			if err != nil {
				return "", err
			}
			return prompt.Description, nil
		}), "greets", "", ""},
		{"resource of 2 MB", session(func(ctx context.Context, _ *way, s *mcp.ClientSession,
			_ clientNotices) (string, error) {
			read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test:///large"})
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(read.Contents[0].Text)), nil
		}), "2097152", "", ""},
		{"end of a session", session(ended), "204 404 404", "", ""},
		{"session that is not there", requestWith(initialize, "POST /mcp", accept, json, "Mcp-Session-Id: none"),
			"404", "", ""},
		{"without Accept", requestWith(initialize, "POST /mcp", json), "400", "", ""},
		{"no JSON", requestWith([]byte("text"), "POST /mcp", accept, json), "400", "", ""},
		{"GET without a session", request("GET /mcp", "Accept: text/event-stream"), "400", "", ""},
		{"PUT", request("PUT /mcp"), "405", "", ""},
	})
}
