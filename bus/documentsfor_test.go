package bus_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// CanaryCoin is of a type that only a hidden endpoint uses, and holds CanaryMetal.
type CanaryCoin struct {
	CanaryWeight int           `json:"canaryWeight" jsonschema:"description=canary of a field"`
	Metals       []CanaryMetal `json:"metals"`
}

// CanaryMetal is used by a hidden type alone.
type CanaryMetal struct {
	CanaryName string `json:"canaryName" jsonschema:"enum=canary-gold,enum=canary-silver"`
}

// Stone is used by a hidden endpoint and by one that everybody sees.
type Stone struct {
	Weight int `json:"weight"`
}

// treasury keeps things. Its comment is for everybody, since everybody sees something of it.
type treasury struct{}

// Stones are for everybody.
func (treasury) Stones(least Stone) (stones []Stone) { return []Stone{least} }

// CanaryMint is a canary in a comment.
func (treasury) CanaryMint(canaryCount int, like Stone) (canaryCoin CanaryCoin) {
	return CanaryCoin{CanaryWeight: canaryCount + like.Weight}
}

// CreateCanaryVault is another one.
func (treasury) CreateCanaryVault(httpRequestBody CanaryMetal) (httpResponseBody map[string]CanaryMetal, httpStatusCode int) {
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
	serve(t, conn, treasury{}, bus.RequireClaims(keepers), bus.Method("Stones", bus.AllowAnonymous()))
	serve(t, conn, canaries{}, bus.RequireClaims(`"canary" in roles`))
	for path, options := range map[string][]bus.HandleOption{
		"/canary/{canaryId}":    {bus.RequireClaims(keepers), bus.Description("A canary in a description.")},
		"/internal-canary":      {bus.RequireClaims(keepers), bus.Port(444)},
		"/files/{path+}":        {bus.Description("Files of everybody.")},
		"/stones/{canaryShape}": {bus.RequireClaims(keepers + ` && "canary-claim" in roles`)},
	} {
		if err := conn.Handle("GET", path, http.NotFoundHandler(), options...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHiddenIsNowhere looks for every name, type and word of what a caller may not call, in all that the caller can read.
func TestHiddenIsNowhere(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		conn := w.connect(treasuryHost, i.trust())
		serveTreasury(t, conn)
		caller := w.connect("caller.example")
		for name, token := range map[string]string{
			"nobody": "", "another role": i.token(claims.Claims{"roles": []string{"cook"}}), "bad": "x",
		} {
			ctx := bus.WithActor(t.Context(), token)
			for path, status := range map[string]int{
				"/openapi.json": 200, ":444/openapi.json": 404, "/stones": 200, "/nothing": 404, "/mint": 404,
			} {
				response, err := caller.Do(mustRequest(t, "https://"+treasuryHost+path).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				if name == "bad" && status == 200 || path == ":444/openapi.json" && name == "bad" {
					status = 401
				}
				read := readAll(t, response)
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
				if status := bus.StatusOf(err); strings.Contains(strings.ToLower(told), "canar") || status != 401 && status != 403 && status != 405 {
					t.Errorf("%s calls %s: %v", name, path, err)
				}
			}
		}
		document := documentOf(t, caller, i.token(claims.Claims{"roles": []string{"keeper", "canary"}}), 443)
		for _, path := range []string{"canary-mint", "canary-vaults", "canary/{canaryId}", "canary-sing", "stones"} {
			if document.Paths.Value("/"+treasuryHost+":443/"+path) == nil {
				t.Errorf("a keeper does not see %s", path)
			}
		}
	})
}

// documentOf reads a document as somebody sees it, which has to be valid.
func documentOf(t *testing.T, conn *bus.Conn, token string, port int) *openapi3.T {
	t.Helper()
	request := mustRequest(t, fmt.Sprintf("https://%s:%d/openapi.json", treasuryHost, port)).WithContext(bus.WithActor(t.Context(), token))
	response, err := conn.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text := readAll(t, response)
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

// TestMoreClaimsShowMore holds that a document for fewer claims is part of that for more.
func TestMoreClaimsShowMore(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		serveTreasury(t, w.connect(treasuryHost, i.trust()))
		caller := w.connect("caller.example")
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
				documents[set] = documentOf(t, caller, i.token(claims.Claims{"roles": some}), port)
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
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		t.Errorf("%s is\n%s\nand with more claims\n%s", what, texts[0], texts[1])
	}
}

// TestDocuments_AskForTokens holds that an operation says when a token is asked for.
func TestDocuments_AskForTokens(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		conn := w.connect(treasuryHost, i.trust())
		serveTreasury(t, conn)
		if open := documentOf(t, conn, "", 443); len(open.Components.SecuritySchemes) != 0 {
			t.Errorf("without a token there are the schemes %v", open.Components.SecuritySchemes)
		}
		document := documentOf(t, conn, i.keeper(), 443)
		scheme := document.Components.SecuritySchemes["bearer"]
		if len(document.Components.SecuritySchemes) != 1 || scheme.Value.Type != "http" || scheme.Value.Scheme != "bearer" || scheme.Value.BearerFormat != "JWT" {
			t.Errorf("the schemes are %v", document.Components.SecuritySchemes)
		}
		asks := openapi3.NewSecurityRequirements().With(openapi3.SecurityRequirement{"bearer": {}})
		mint := document.Paths.Value("/" + treasuryHost + ":443/canary-mint").Post
		stones := document.Paths.Value("/" + treasuryHost + ":443/stones").Post
		if !reflect.DeepEqual(mint.Security, asks) || stones.Security != nil || document.Security != nil {
			t.Errorf("asked for: %v, of nobody: %v, %v", mint.Security, stones.Security, document.Security)
		}
	})
}

// TestReadersAreNotMixedUp has two readers of one document ask at once, again and again.
func TestReadersAreNotMixedUp(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		serveTreasury(t, w.connect(treasuryHost, i.trust()))
		caller := w.connect("caller.example")
		keeper := i.keeper()
		var readers sync.WaitGroup
		for range 8 {
			for token, want := range map[string]bool{"": false, keeper: true} {
				readers.Go(func() {
					for n := range 60 {
						request := mustRequest(t, "https://"+treasuryHost+"/openapi.json").WithContext(bus.WithActor(t.Context(), token))
						request.Header.Set("X-Forwarded-Proto", "http")
						request.Header.Set("X-Forwarded-Host", fmt.Sprintf("door%d.example", n)) // more addresses than are kept
						response, err := caller.Do(request)
						if err != nil {
							t.Error(err)
							return
						}
						if got := readAll(t, response); strings.Contains(got, "anary") != want {
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

// readAll returns the body of a response.
func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
