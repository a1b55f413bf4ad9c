// Package documents_test reads the documents that a service writes of itself.
package documents_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

func loadDocument(t *testing.T, conn *bus.Conn, url string) *openapi3.T {
	t.Helper()
	response, body := kit.Do(t, conn, "GET", url, "", "")
	require.Equal(t, 200, response.StatusCode, url)
	require.Equal(t, "application/json", response.Header.Get("Content-Type"), url)
	document, err := openapi3.NewLoader().LoadFromData([]byte(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return document
}

func TestDocument_ShowsWhatIsPublic(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect(kit.CalculatorHost, bus.WithVersion("7"), bus.WithBaseURL("https://door.example/"))
		kit.Serve(t, conn, kit.Calculator{}, bus.Method("Panic", bus.Undocumented()), bus.Method("Exit", bus.Port(444)))
		document := loadDocument(t, conn, kit.CalculatorURL+"/openapi.json")
		assert.Equal(t, "3.0.0", document.OpenAPI, "head")
		assert.Equal(t, kit.CalculatorHost, document.Info.Title, "head")
		assert.Equal(t, "7", document.Info.Version, "head")
		if got := document.Servers[0].URL; got != "https://door.example" {
			t.Errorf("server %s", got)
		}
		add := document.Paths.Value("/calculator.example:443/add")
		require.NotNil(t, add)
		require.NotNil(t, add.Post)
		assert.Equal(t, "Add(x int, y int) (sum int)", add.Post.Summary)
		assert.Contains(t, add.Post.Description, "the sum of x and y")
		for _, path := range []string{"/calculator.example:443/panic", "/calculator.example:443/exit",
			"/calculator.example:443/openapi.json"} {
			if document.Paths.Value(path) != nil {
				t.Errorf("%s is shown", path)
			}
		}
		internal := loadDocument(t, conn, kit.CalculatorURL+":444/openapi.json")
		if internal.Paths.Value("/calculator.example:444/exit") == nil {
			t.Errorf("Exit is not shown on its port: %v", internal.Paths.Map())
		}
		// what is registered later is shown too
		require.NoError(t, conn.Handle("GET", "/files/{path+}", http.NotFoundHandler(), bus.Description("All files.")))
		document = loadDocument(t, conn, kit.CalculatorURL+"/openapi.json")
		files := document.Paths.Value("/calculator.example:443/files/{path}")
		require.NotNil(t, files)
		require.NotNil(t, files.Get)
		assert.Equal(t, "All files.", files.Get.Description)
	})
}

func TestDocument_NamesTheAddressItWasReachedAt(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect(kit.CalculatorHost)
		kit.Serve(t, conn, kit.Calculator{})
		if got := loadDocument(t, conn, kit.CalculatorURL+"/openapi.json").Servers[0].URL; got != "http://127.0.0.1:8080" {
			t.Errorf("without a base URL: %s", got)
		}
		request := kit.MustRequest(t, kit.CalculatorURL+"/openapi.json")
		for name, value := range map[string]string{"Host": "api.example:8443", "Proto": "https", "Prefix": "/bus"} {
			request.Header.Set("X-Forwarded-"+name, value)
		}
		response, err := conn.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		document, err := openapi3.NewLoader().LoadFromIoReader(response.Body)
		require.NoError(t, err)
		if got := document.Servers[0].URL; got != "https://api.example:8443/bus" {
			t.Errorf("behind an ingress: %s", got)
		}
	})
}

// CanaryCoin is of a type that only a hidden endpoint uses, and holds CanaryMetal.
type CanaryCoin struct {
	CanaryWeight int           `json:"canaryWeight" jsonschema:"description=canary of a field"`
	Metals       []CanaryMetal `json:"metals"`
}

// CanaryMetal is used by a hidden type alone.
type CanaryMetal struct {
	CanaryName string `json:"canaryName" jsonschema:"enum=canary-gold,enum=canary-silver"`
}

// Stone is used by a hidden endpoint and by one that every caller sees.
type Stone struct {
	Weight int `json:"weight"`
}

// treasury keeps things. Its comment is shown to every caller, since every caller sees something of it.
type treasury struct{}

// Stones are open to every caller.
func (treasury) Stones(least Stone) (stones []Stone) { return []Stone{least} }

// CanaryMint is a canary in a comment.
func (treasury) CanaryMint(canaryCount int, like Stone) (canaryCoin CanaryCoin) {
	return CanaryCoin{CanaryWeight: canaryCount + like.Weight}
}

// CreateCanaryVault is another one.
func (treasury) CreateCanaryVault(httpRequestBody CanaryMetal) (httpResponseBody map[string]CanaryMetal,
	httpStatusCode int) {
	return map[string]CanaryMetal{"canary": httpRequestBody}, 0
}

// canaries is a type all of whose methods are hidden, so that its comment, with a canary, is too.
type canaries struct{}

// CanarySing sings.
func (canaries) CanarySing() (canarySong string) { return "canary" }

const treasuryHost = "treasury.example"

// serveTreasury has endpoints of each kind that only some callers may see.
func serveTreasury(t *testing.T, conn *bus.Conn) {
	t.Helper()
	kit.Serve(t, conn, treasury{}, bus.RequireClaims(kit.Keepers), bus.Method("Stones", bus.AllowAnonymous()))
	kit.Serve(t, conn, canaries{}, bus.RequireClaims(`"canary" in roles`))
	for path, options := range map[string][]bus.HandleOption{
		"/canary/{canaryId}":    {bus.RequireClaims(kit.Keepers), bus.Description("A canary in a description.")},
		"/internal-canary":      {bus.RequireClaims(kit.Keepers), bus.Port(444)},
		"/files/{path+}":        {bus.Description("Files of everybody.")},
		"/stones/{canaryShape}": {bus.RequireClaims(kit.Keepers + ` && "canary-claim" in roles`)},
	} {
		require.NoError(t, conn.Handle("GET", path, http.NotFoundHandler(), options...))
	}
}

// TestDocument_HidesWhatClaimsForbid looks for every name, type and word of what a caller may not call, in all that the
// caller can read.
func TestDocument_HidesWhatClaimsForbid(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		conn := w.Connect(treasuryHost, i.Trust())
		serveTreasury(t, conn)
		caller := w.Connect("caller.example")
		for name, token := range map[string]string{
			"anonymous": "", "another role": i.Token(claims.Claims{"roles": []string{"cook"}}), "bad": "x",
		} {
			t.Run(name, func(t *testing.T) {
				ctx := bus.WithActor(t.Context(), token)
				for path, status := range map[string]int{
					"/openapi.json": 200, ":444/openapi.json": 404, "/stones": 200, "/nothing": 404, "/mint": 404,
				} {
					response, err := caller.Do(kit.MustRequest(t, "https://"+treasuryHost+path).WithContext(ctx))
					require.NoError(t, err)
					if name == "bad" && status == 200 || path == ":444/openapi.json" && name == "bad" {
						status = 401
					}
					read := kit.BodyOf(t, response)
					if response.StatusCode != status {
						t.Errorf("%s reads %s: %d, want %d", name, path, response.StatusCode, status)
					}
					if strings.Contains(strings.ToLower(read), "canar") {
						t.Errorf("%s reads of a canary at %s: %s", name, path, read)
					}
				}
				for _, path := range []string{"/canary-mint", "/canary-vaults", "/canary/7", "/canary-sing"} {
					err := caller.Call(ctx, "https://"+treasuryHost+path, nil, nil)
					told := strings.ReplaceAll(fmt.Sprint(err), path, "") // what the caller knew
					if status := bus.StatusOf(err); strings.Contains(strings.ToLower(told), "canar") || status != 401 &&
						status != 403 && status != 405 {
						t.Errorf("%s calls %s: %v", name, path, err)
					}
				}
			})
		}
		document := documentOf(t, caller, i.Token(claims.Claims{"roles": []string{"keeper", "canary"}}), 443)
		for _, path := range []string{"canary-mint", "canary-vaults", "canary/{canaryId}", "canary-sing", "stones"} {
			if document.Paths.Value("/"+treasuryHost+":443/"+path) == nil {
				t.Errorf("a keeper does not see %s", path)
			}
		}
	})
}

// documentOf reads a document as a client sees it, which has to be valid.
func documentOf(t *testing.T, conn *bus.Conn, token string, port int) *openapi3.T {
	t.Helper()
	request := kit.MustRequest(t, fmt.Sprintf("https://%s:%d/openapi.json", treasuryHost,
		port)).WithContext(bus.WithActor(t.Context(), token))
	response, err := conn.Do(request)
	require.NoError(t, err)
	text := kit.BodyOf(t, response)
	if response.StatusCode == http.StatusNotFound {
		return &openapi3.T{Components: new(openapi3.Components), Paths: new(openapi3.Paths)}
	}
	if got := response.Header.Get("Cache-Control"); got != "private, no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err == nil {
		err = document.Validate(t.Context())
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if document.Components == nil {
		document.Components = new(openapi3.Components)
	}
	return document
}

// TestDocument_MoreClaimsShowMore holds that a document for fewer claims is part of that for more.
func TestDocument_MoreClaimsShowMore(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		serveTreasury(t, w.Connect(treasuryHost, i.Trust()))
		caller := w.Connect("caller.example")
		roles := []string{"keeper", "canary", "canary-claim", "cook"}
		documents := make(map[int]*openapi3.T) // by the roles of their reader, as bits
		for port, few := range map[int]int{443: 1, 444: 0} {
			for set := range 1 << len(roles) {
				var some []string
				for bit, role := range roles {
					if set&(1<<bit) != 0 {
						some = append(some, role)
					}
				}
				documents[set] = documentOf(t, caller, i.Token(claims.Claims{"roles": some}), port)
			}
			if got := documents[0].Paths.Len(); got < few {
				t.Errorf("without roles there are %d paths on port %d", got, port)
			}
			for fewer := range documents {
				for more := range documents {
					if fewer&more == fewer {
						checkPart(t, documents[fewer], documents[more])
					}
				}
			}
		}
	})
}

func checkPart(t *testing.T, fewer, more *openapi3.T) {
	t.Helper()
	for path, item := range fewer.Paths.Map() {
		other := more.Paths.Value(path)
		if other == nil {
			t.Errorf("%s is lost with more claims", path)
			continue
		}
		for method, operation := range item.Operations() {
			checkEqual(t, method+" "+path, operation, other.GetOperation(method))
		}
	}
	for name, schema := range fewer.Components.Schemas {
		checkEqual(t, name, schema, more.Components.Schemas[name])
	}
	for name, scheme := range fewer.Components.SecuritySchemes {
		checkEqual(t, name, scheme, more.Components.SecuritySchemes[name])
	}
}

// checkEqual compares as JSON.
func checkEqual(t *testing.T, what string, one, other any) {
	t.Helper()
	var texts [2]string
	for i, value := range []any{one, other} {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		t.Errorf("%s is\n%s\nand with more claims\n%s", what, texts[0], texts[1])
	}
}

// TestDocuments_AskForTokens holds that an operation says when a token is asked for.
func TestDocuments_AskForTokens(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		conn := w.Connect(treasuryHost, i.Trust())
		serveTreasury(t, conn)
		if open := documentOf(t, conn, "", 443); len(open.Components.SecuritySchemes) != 0 {
			t.Errorf("without a token there are the schemes %v", open.Components.SecuritySchemes)
		}
		document := documentOf(t, conn, i.Keeper(), 443)
		scheme := document.Components.SecuritySchemes["bearer"]
		require.Len(t, document.Components.SecuritySchemes, 1)
		assert.Equal(t, "http", scheme.Value.Type)
		assert.Equal(t, "bearer", scheme.Value.Scheme)
		assert.Equal(t, "JWT", scheme.Value.BearerFormat)
		asks := openapi3.NewSecurityRequirements().With(openapi3.SecurityRequirement{"bearer": {}})
		mint := document.Paths.Value("/" + treasuryHost + ":443/canary-mint").Post
		stones := document.Paths.Value("/" + treasuryHost + ":443/stones").Post
		assert.Equal(t, asks, mint.Security, "asked for")
		assert.Empty(t, *stones.Security, "asked for")
		assert.Nil(t, document.Security, "asked for")
	})
}

// TestDocument_OfConcurrentReaders has two readers of one document ask at once, again and again.
func TestDocument_OfConcurrentReaders(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		serveTreasury(t, w.Connect(treasuryHost, i.Trust()))
		caller := w.Connect("caller.example")
		keeper := i.Keeper()
		var readers sync.WaitGroup
		for range 8 {
			for token, want := range map[string]bool{"": false, keeper: true} {
				readers.Go(func() {
					for n := range 60 {
						request := kit.MustRequest(t, "https://"+treasuryHost+
							"/openapi.json").WithContext(bus.WithActor(t.Context(), token))
						request.Header.Set("X-Forwarded-Proto", "http")
						request.Header.Set("X-Forwarded-Host", fmt.Sprintf("door%d.example", n)) // more addresses than are kept
						response, err := caller.Do(request)
						if err != nil {
							t.Error(err)
							return
						}
						if got := kit.BodyOf(t, response); strings.Contains(got, "anary") != want {
							t.Errorf("want a canary: %v, and got %s", want, got)
							return
						}
					}
				})
			}
		}
		readers.Wait()
	})
}

// TestDocument_OfRefusesWhatServeRefuses holds that a document is not of a service that could not start.
func TestDocument_OfRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("twins.example")
	for name, option := range map[string]bus.ServeOption{
		"port 0":     bus.Port(0),
		"port 417":   bus.Port(417),
		"port 888":   bus.Port(888),
		"body limit": bus.MaxBodyBytes(-1),
		"HEAD":       bus.Method("Two", bus.HTTPMethod("HEAD")),
		"a conflict": bus.Method("Two", bus.Path("/one")),
		"documents":  bus.Method("Two", bus.Path("/openapi.json"), bus.HTTPMethod("GET")),
		"claims":     bus.RequireClaims("level >"),
		"two claims": bus.Method("Two", bus.RequireClaims("a"), bus.RequireClaims("b")),
		"no option":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			served := bus.Serve(conn, kit.Twins{}, option)
			_, described := bus.OpenAPIOf("twins.example", kit.Twins{}, option)
			if served == nil || described == nil {
				t.Errorf("served %v, described %v", served, described)
				return
			}
			_, why, found := strings.Cut(served.Error(), " on twins.example: ")
			require.True(t, found)
			assert.True(t, strings.HasSuffix(described.Error(), why), described.Error())
		})
	}
	_, err := bus.OpenAPIOf("not a host", kit.Twins{})
	assert.ErrorContains(t, err, "not a host", "a bad host")
}

// TestDocument_OfEventsRefusesWhatSubscribeRefuses holds that a document has no events that no subscriber could handle.
func TestDocument_OfEventsRefusesWhatSubscribeRefuses(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("twins.example")
	for _, test := range []struct {
		name   string
		source string
		impl   any
		option events.SubscribeOption
	}{
		{"no events", "source.example", kit.Twins{}, bus.TimeBudget(0)},
		{"a bad host", "not a host", kit.Happening{}, bus.TimeBudget(0)},
		{"port", "source.example", kit.Happening{}, bus.Method("OnDone", bus.Port(444))},
		{"body limit", "source.example", kit.Happening{}, bus.MaxBodyBytes(-1)},
		{"no option", "source.example", kit.Happening{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			subscribed := events.Subscribe(conn, test.source, test.impl, test.option)
			_, described := events.OpenAPIOf(test.source, test.impl, test.option)
			if subscribed == nil || described == nil {
				t.Errorf("subscribed %v, described %v", subscribed, described)
				return
			}
			_, why, found := strings.Cut(subscribed.Error(), "to the events of "+test.source+": ")
			require.True(t, found)
			assert.True(t, strings.HasSuffix(described.Error(), why), described.Error())
		})
	}
	document, err := events.OpenAPIOf("source.example", kit.Happening{}, events.Durable())
	for _, want := range []string{`"/source.example:417/on-done":{"post":`, `"x-stored":true`} {
		if !strings.Contains(string(document), want) {
			t.Errorf("%s is not in %s, %v", want, document, err)
		}
	}
}

// TestDocument_WarnsOfConflicts serves paths that OpenAPI cannot distinguish.
func TestDocument_WarnsOfConflicts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		log := new(kit.Lines)
		conn := b.Connect("files.example", bus.WithLogger(zerolog.New(log)))
		for _, each := range []struct {
			method, path string
			options      []bus.HandleOption
			told         int
		}{
			{"GET", "/files/{path+}", nil, 0},
			{"PUT", "/files/{name}", nil, 0},
			{"GET", "/files/{name}", []bus.HandleOption{bus.Port(444)}, 0},
			{"GET", "/files/{name}", []bus.HandleOption{bus.Undocumented()}, 0},
			{"", "/files/{a}/{rest+}", nil, 0},
			{"PUT", "/files/{path+}", nil, 1},
			{"DELETE", "/logs/{path+}", nil, 1},
			{"DELETE", "/logs/{name}", nil, 2},
		} {
			require.NoError(t, conn.Handle(each.method, each.path, http.NotFoundHandler(), each.options...))
			if told := log.Count("not in documents"); told != each.told {
				t.Errorf("after %s %s: %d warnings, want %d:\n%s", each.method, each.path, told, each.told, log)
			}
		}
	})
}
