package claims_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/internal/signing"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

const (
	stockHost = "stock.example"
	stockURL  = "https://stock.example"
)

// stock is a service that asks who calls.
type stock struct{}

// Take is for some services.
func (stock) Take(ctx context.Context) (who string, proven bool) { return stock{}.Who(ctx) }

// Who is open to every caller, and says who that is.
func (stock) Who(ctx context.Context) (who string, proven bool) {
	caller, _ := bus.CallerOf(ctx)
	again, _ := bus.CallerOf(ctx)
	return caller.ID + "." + caller.Host, caller.Proven && again == caller
}

// Length is for some services, too, and takes texts of any length.
func (stock) Length(text string) (length int) { return len(text) }

func takers() bus.ServeOption { return bus.RequireCallers("orders.example", "*.billing.example") }

func serveStock(t *testing.T, conn *bus.Conn) {
	t.Helper()
	kit.Serve(t, conn, stock{}, takers(), bus.ExcludeMethods("Who"))
	kit.Serve(t, conn, asked{}, bus.Method("Who", bus.NoQueue()))
	kit.Serve(t, conn, asked{}, bus.Port(444))
	require.NoError(t, conn.Handle("POST", "/upload", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, err := io.Copy(io.Discard, r.Body)
		caller, _ := bus.CallerOf(r.Context())
		_, _ = fmt.Fprint(w, size, err, caller.Proven)
	}), bus.RequireCallers("orders.example")))
	require.NoError(t, conn.Handle("PUT", "/upload", http.NotFoundHandler(), bus.RequireCallers("secret.example"),
		bus.Undocumented()))
}

// asked is the open part of the stock.
type asked struct{}

// Who says who calls.
func (asked) Who(ctx context.Context) (who string, proven bool) { return stock{}.Who(ctx) }

type answer struct {
	Who    string
	Proven bool
}

// TestProof_OverBoth calls a service with and without keys, in every way there is.
func TestProof_OverBoth(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		keys := bustest.NewServiceKeys(t, "orders.example", "eu.billing.example", "billing.example", "other.example",
			stockHost)
		callee := w.Connect(stockHost, keys.Trust(), keys.Prove())
		serveStock(t, callee)
		for host, want := range map[string]struct {
			status int
			reason string
		}{
			"orders.example":     {},
			"eu.billing.example": {},
			"billing.example":    {403, "the service billing.example is not among those that may call here"},
			"other.example":      {403, "the service other.example is not among those that may call here"},
			stockHost:            {403, "the service stock.example is not among those that may call here"},
		} {
			caller := callee
			if host != stockHost {
				caller = w.Connect(host, keys.Prove())
			}
			var got answer
			err := caller.Call(t.Context(), stockURL+"/take", nil, &got)
			if want.status == 0 {
				require.NoError(t, err, host)
				assert.Equal(t, answer{caller.ID() + "." + host, true}, got)
			} else {
				kit.CheckError(t, err, want.status, bus.ExecutedNo)
				assert.ErrorContains(t, err, want.reason)
			}
			for _, address := range []string{stockURL, "https://" + callee.ID() + "." + stockHost, stockURL + ":444"} {
				require.NoError(t, caller.Call(t.Context(), address+"/who", nil, &got), host)
				assert.Equal(t, answer{caller.ID() + "." + host, true}, got, address)
			}
		}
		unproven := w.Connect("orders.example")
		err := unproven.Call(t.Context(), stockURL+"/take", nil, nil)
		kit.CheckError(t, err, 403, bus.ExecutedNo)
		assert.ErrorContains(t, err, "it needs a key, see BUS_SERVICE_KEY")
		var got answer
		require.NoError(t, unproven.Call(t.Context(), stockURL+"/who", nil, &got))
		assert.False(t, got.Proven)
		sendMuch(t, w, keys, unproven)
		showCallers(t, callee)
	})
}

// sendMuch sends bodies in parts and as streams, and makes a multicast.
func sendMuch(t *testing.T, w *kit.World, keys *bustest.ServiceKeys, unproven *bus.Conn) {
	t.Helper()
	proven := w.Connect("orders.example", keys.Prove())
	second := w.Connect(stockHost, keys.Trust())
	serveStock(t, second)
	long := bus.Args{"text": strings.Repeat("x", 3<<20)}
	var measured struct{ Length int }
	require.NoError(t, proven.Call(t.Context(), stockURL+"/length", long, &measured))
	assert.Equal(t, 3<<20, measured.Length)
	kit.CheckError(t, unproven.Call(t.Context(), stockURL+"/length", long, nil), 403, bus.ExecutedNo)
	for conn, want := range map[*bus.Conn]string{proven: "2000000 <nil> true", unproven: ""} {
		request := kit.MustRequest(t, stockURL+"/upload")
		request.Method, request.Body = "POST", io.NopCloser(kit.NewNumbered(2_000_000))
		response, err := conn.Do(request)
		require.NoError(t, err)
		body := kit.BodyOf(t, response)
		if want == "" {
			assert.Equal(t, 403, response.StatusCode, body)
			continue
		}
		assert.Equal(t, want, body)
	}
	answers := 0
	for response, err := range proven.Multicast(kit.MustRequest(t, stockURL+"/who")) {
		require.NoError(t, err)
		answers++
		assert.Contains(t, kit.BodyOf(t, response), `"proven":true`)
	}
	assert.Equal(t, 2, answers)
}

// showCallers looks at who may call in the documents.
func showCallers(t *testing.T, callee *bus.Conn) {
	t.Helper()
	const shown = `"x-callers":["orders.example","*.billing.example"]`
	for _, path := range []string{"/openapi.json", "/openapi.json?version=3.1"} {
		_, text := kit.Do(t, callee, "GET", stockURL+path, "", "")
		assert.Equal(t, 2, strings.Count(text, shown), text)
	}
	own, err := callee.OpenAPI()
	require.NoError(t, err)
	assert.Contains(t, string(own), shown)
	_, allowed := kit.Do(t, callee, "GET", stockURL+":888/allow?port=443&path=/upload", "", "")
	assert.JSONEq(t, `{"methods":["POST","PUT"],"callers":{"POST":["orders.example"]}}`, allowed)
	_, allowed = kit.Do(t, callee, "GET", stockURL+":888/allow?port=443&path=/who", "", "")
	assert.JSONEq(t, `{"methods":["GET","HEAD","POST"]}`, allowed)
}

// forger makes proofs of evil.example by hand.
type forger struct {
	t        *testing.T
	key, own *signing.Key // own is of other.example
	plane    string
}

func newKey(t *testing.T, id string) *signing.Key {
	t.Helper()
	key, err := signing.New(id)
	require.NoError(t, err)
	return key
}

func (f forger) sign(key *signing.Key, name string, value any) string {
	f.t.Helper()
	now := time.Now()
	said := map[string]any{"sub": "e1aaaaaaaa.evil.example", "aud": stockHost, "plane": f.plane, "iat": now.Unix(),
		"exp": now.Add(2 * time.Minute).Unix()}
	said[name] = value
	maps.DeleteFunc(said, func(_ string, value any) bool { return value == nil })
	text, err := key.Sign(said)
	require.NoError(f.t, err)
	return text
}

// TestProof_Forged sends requests by hand, with proofs that are wrong in one way each.
func TestProof_Forged(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	f := forger{t, newKey(t, "evil.example"), newKey(t, "other.example"), w.Plane()}
	set := filepath.Join(t.TempDir(), "services.jwks")
	require.NoError(t, signing.WriteKeySet(set, f.key, f.own, newKey(t, "evil.example/2")))
	callee := w.Connect(stockHost, bus.WithServiceKeySet(set))
	kit.Serve(t, callee, stock{}, bus.RequireCallers("evil.example"), bus.ExcludeMethods("Who"))
	kit.Serve(t, callee, asked{})
	h := kit.NewHostile(t, w)
	now, invalid := time.Now(), "the proof of the caller: "
	seconds := func(after time.Duration) int64 { return now.Add(after).Unix() }
	for name, test := range map[string]struct {
		proof  string
		status int
		reason string
	}{
		"good":                    {f.sign(f.key, "", nil), 200, ""},
		"for the instance":        {f.sign(f.key, "aud", callee.ID()+"."+stockHost), 200, ""},
		"20 s from the future":    {f.sign(f.key, "iat", seconds(20*time.Second)), 200, ""},
		"expired 20 s ago":        {f.sign(f.key, "exp", seconds(-20*time.Second)), 200, ""},
		"60 s from the future":    {f.sign(f.key, "iat", seconds(time.Minute)), 401, invalid + "not valid before "},
		"stale":                   {f.sign(f.key, "exp", seconds(-time.Minute)), 401, invalid + "expired at "},
		"valid for a day":         {f.sign(f.key, "exp", seconds(24*time.Hour)), 401, invalid + "it is valid for longer than"},
		"no iat":                  {f.sign(f.key, "iat", nil), 401, invalid + "it is valid for longer than"},
		"never expires":           {f.sign(f.key, "exp", nil), 401, invalid + "it has no expiry"},
		"for another host":        {f.sign(f.key, "aud", "payroll.example"), 401, invalid + "it is meant for another host or port (aud)"},
		"of an event":             {f.sign(f.key, "aud", stockHost+":417"), 401, invalid + "it is meant for another host or port"},
		"for the usual port":      {f.sign(f.key, "aud", stockHost+":443"), 401, invalid + "it is meant for another host or port"},
		"for several hosts":       {f.sign(f.key, "aud", []string{stockHost}), 401, invalid + "it is meant for another host or port (aud)"},
		"for another plane":       {f.sign(f.key, "plane", "other"), 401, invalid + "it is for another plane"},
		"of another instance":     {f.sign(f.key, "sub", "e2aaaaaaaa.evil.example"), 401, invalid + "it is that of another sender (sub)"},
		"of no instance":          {f.sign(f.key, "sub", "evil.example"), 401, invalid + "its key (kid) is not one of the host"},
		"no sender":               {f.sign(f.key, "sub", nil), 401, invalid + "its key (kid) is not one of the host"},
		"stolen":                  {f.sign(f.own, "sub", "o1aaaaaaaa.other.example"), 401, invalid + "it is that of another sender (sub)"},
		"by the key of another":   {f.sign(f.own, "", nil), 401, invalid + "its key (kid) is not one of the host of the sender"},
		"by a key of its making":  {f.sign(newKey(t, "evil.example"), "", nil), 401, invalid + "its signature does not match"},
		"by a key that is absent": {f.sign(newKey(t, "evil.example/3"), "", nil), 401, invalid + "signed with a key (kid, alg)"},
		"no proof at all":         {"x", 401, invalid + "not a JWT"},
		"none":                    {"", 403, "the caller does not prove which one it is"},
	} {
		field := "Bus-Caller-Proof: " + test.proof
		response, body := h.Send("443.example.stock.|.GET.take", kit.RawRequest("GET /take HTTP/1.1", stockHost, field))
		assert.Equal(t, test.status, response.StatusCode, "%s: %s", name, body)
		assert.Contains(t, body, test.reason, name)
		const begins = `Bus-Caller-Proof error="invalid_token", error_description="`
		challenge := response.Header.Get("Www-Authenticate")
		assert.Equal(t, test.status == 401, strings.HasPrefix(challenge, begins), "%s: %s", name, challenge)
		assert.Equal(t, test.status != 200, strings.Contains(body, `"executed":"no"`), "%s: %s", name, body)
		_, body = h.Send("443.example.stock.|.GET.who", kit.RawRequest("GET /who HTTP/1.1", stockHost, field))
		assert.JSONEq(t, fmt.Sprintf(`{"who":"e1aaaaaaaa.evil.example","proven":%t}`, test.status == 200), body, name)
		if test.status != 200 { // part 1 of a request that would hold memory until the other parts have come
			part := kit.RawRequest("POST /length HTTP/1.1", stockHost, field, "Bus-Fragment: 1/2")
			part = strings.Replace(part, "m1", "m-"+strings.ReplaceAll(name, " ", "-"), 1)
			response, body = h.Send("443.example.stock.|.POST.length", part)
			assert.Equal(t, test.status, response.StatusCode, "%s, in parts: %s", name, body)
		}
	}
}

// TestProof_Rotation rotates the key of a service, and has its proofs made anew, in virtual time.
func TestProof_Rotation(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		folder := t.TempDir()
		file := func(name string) string { return filepath.Join(folder, name) }
		first, second, other := newKey(t, "orders.example"), newKey(t, "orders.example/2"), newKey(t, stockHost)
		require.NoError(t, signing.WritePrivate(file("first"), other, first)) // of a process with two hosts
		require.NoError(t, signing.WritePrivate(file("both"), first, second))
		require.NoError(t, signing.WriteKeySet(file("set"), first))
		callee := b.Connect(stockHost, bus.WithServiceKeySet(file("set")), bus.WithServiceKey(file("first")))
		serveStock(t, callee)
		before, after := b.Connect("orders.example", bus.WithServiceKey(file("first"))),
			b.Connect("orders.example", bus.WithServiceKey(file("both")))
		check := func(when string, caller *bus.Conn, status int) {
			t.Helper()
			err := caller.Call(t.Context(), stockURL+"/take", nil, nil)
			assert.Equal(t, status, bus.StatusOf(err), "%s: %v", when, err)
		}
		check("the first key", before, 200)
		check("the second is not published", after, 401)
		time.Sleep(time.Minute)
		require.NoError(t, signing.AddToKeySet(file("set"), second))
		check("it is", after, 200)
		check("both are, by the first", before, 200)
		require.NoError(t, signing.WriteKeySet(file("set"), second))
		for range 60 { // its proofs are remembered meanwhile
			time.Sleep(5 * time.Second)
			_ = before.Call(t.Context(), stockURL+"/take", nil, nil)
		}
		check("the first is published no more", before, 401)
		check("the second still is", after, 200)
		time.Sleep(time.Hour)
		check("an hour later", after, 200)
	})
}

// TestProof_Late has handlers ask who calls when the proof has expired.
func TestProof_Late(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		keys := bustest.NewServiceKeys(t, "orders.example")
		callee := b.Connect(stockHost, keys.Trust())
		for path, early := range map[string]bool{"/early": true, "/late": false} {
			require.NoError(t, callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if early {
					_, _ = bus.CallerOf(r.Context())
				}
				time.Sleep(3 * time.Minute)
				caller, _ := bus.CallerOf(r.Context())
				_, _ = fmt.Fprint(w, caller.Proven)
			})))
			ctx := bus.WithTimeBudget(t.Context(), 5*time.Minute)
			response, err := b.Connect("orders.example", keys.Prove()).Do(kit.MustRequest(t, stockURL+path).WithContext(ctx))
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(early), kit.BodyOf(t, response), path)
		}
	})
}

// TestServiceKeys_OfTheEnvironment has connections read keys and sets, good and bad, as their environment says.
func TestServiceKeys_OfTheEnvironment(t *testing.T) {
	b, folder := kit.NewBus(t), t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	key := newKey(t, "orders.example")
	require.NoError(t, signing.WritePrivate(file("key"), key))
	require.NoError(t, signing.WritePrivate(file("nameless"), newKey(t, "orders.example/")))
	require.NoError(t, signing.WriteKeySet(file("set"), key))
	require.NoError(t, signing.WriteSecret(file("broken"), []byte(`{"kty":"oct","k":"AA"}`)))
	for _, test := range []struct{ key, set, host, want string }{
		{file("none"), "", "orders.example", "no such file or directory; make one with: busline key orders.example"},
		{file("nameless"), "", "orders.example", `key ID "orders.example/": behind the slash it needs 1 to 128 bytes`},
		{file("broken"), "", "orders.example", "or P-256 key; make one with: busline key orders.example"},
		{file("set"), "", "orders.example", "not a private Ed25519 or P-256 key"},
		{file("key"), "", "other.example", `no key in it is for other.example: its ID (kid) has to be "other.example", or begin`},
		{"", file("none"), "orders.example", "BUS_SERVICE_JWKS or bus.WithServiceKeySet: key set file "},
		{"", file("key"), "orders.example", `not a JSON Web Key Set: no "keys"`},
	} {
		t.Setenv("BUS_SERVICE_KEY", test.key)
		t.Setenv("BUS_SERVICE_JWKS", test.set)
		_, err := bus.Connect(t.Context(), test.host, b.Options()...)
		assert.ErrorContains(t, err, test.want)
	}
	t.Setenv("BUS_SERVICE_KEY", file("key"))
	t.Setenv("BUS_SERVICE_JWKS", file("set"))
	caller := b.Connect("orders.example")
	callee := b.Connect(stockHost, bus.WithServiceKey(""))
	serveStock(t, callee)
	require.NoError(t, caller.Call(t.Context(), stockURL+"/take", nil, nil))

	written := new(kit.Lines)
	loud := bus.WithLogger(zerolog.New(written))
	lost := b.Connect("lost.example", bus.WithServiceKey(""), bus.WithServiceKeySet("http://127.0.0.1:1/keys"), loud)
	kit.Serve(t, lost, stock{}, takers(), bus.ExcludeMethods("Who"))
	err := caller.Call(t.Context(), "https://lost.example/take", nil, nil)
	kit.CheckError(t, err, 401, bus.ExecutedNo)
	assert.ErrorContains(t, err, "the proof of the caller: it cannot be verified yet, because no key set has been read")
	without := b.Connect("without.example", bus.WithServiceKey(""), bus.WithServiceKeySet(""), loud)
	kit.Serve(t, without, stock{}, takers(), bus.ExcludeMethods("Who"))
	err = caller.Call(t.Context(), "https://without.example/take", nil, nil)
	kit.CheckError(t, err, 401, bus.ExecutedNo)
	assert.ErrorContains(t, err, "it cannot be verified, because the service has no key set")
	stranger := b.Connect("stranger.example", bus.WithServiceKey(""))
	err = stranger.Call(t.Context(), "https://without.example/take", nil, nil)
	kit.CheckError(t, err, 403, bus.ExecutedNo)
	require.ErrorContains(t, err, "this service cannot verify which one calls, as it has no key set: see BUS_SERVICE_JWKS")
	require.NoError(t, without.Close(t.Context()))
	assert.Contains(t, written.String(), "no token is accepted until the key set can be read")
	assert.Contains(t, written.String(), "this connection has no key set of services")
}

// TestProof_OfEvents holds that the publisher of a live event is proven, and that a stored event carries no proof.
func TestProof_OfEvents(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"live": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &kit.World{Bus: kit.NewBus(t, broker.JetStream(t.TempDir())), Transport: kit.WithShortCircuit(true)}
			private, set := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "set")
			key, evil := newKey(t, kit.OrdersHost), newKey(t, "evil.example")
			require.NoError(t, signing.WritePrivate(private, key))
			require.NoError(t, signing.WriteKeySet(set, key, evil))
			proven := make(chan bool, 1)
			sink := kit.NewSink()
			sink.Handle = func(ctx context.Context, _ int) error {
				caller, _ := bus.CallerOf(ctx)
				proven <- caller.Proven
				return nil
			}
			var subscribe []events.SubscribeOption
			var publish []events.PublishOption
			if stored {
				subscribe, publish = append(subscribe, events.Durable()), append(publish, events.Durable())
			}
			event := kit.NewOrdered(t, w.Connect(kit.OrdersHost, bus.WithServiceKey(private)), publish...)
			kit.Subscribe(t, w.Connect(stockHost, bus.WithServiceKeySet(set)), sink, subscribe...)
			messages := kit.Tap(t, w, ">")
			kit.Fire(t, event, 1)
			assert.Equal(t, !stored, kit.Await(t, "the event", proven))
			if !stored {
				return
			}
			message := checkStored(t, messages)
			_, body, _ := strings.Cut(string(message.Data), "\r\n\r\n")
			text := kit.RawRequest("POST /on-ordered HTTP/1.1", kit.OrdersHost, fmt.Sprint("Content-Length: ", len(body)),
				"Content-Type: application/json", "Bus-Caller-Proof: "+
					forger{t, evil, nil, w.Plane()}.sign(evil, "aud", kit.OrdersHost+":417"))
			require.NoError(t, kit.RawClient(t, w).Publish(message.Subject, []byte(strings.ReplaceAll(text, "\n", "\r\n")+body)))
			assert.False(t, kit.Await(t, "an event that another client stores", proven))
		})
	}
}

// TestProof_ReplayOfAnEvent has a subscriber send a live event that it has read to its publisher, as a call: the event
// proves the publisher, and not to itself.
func TestProof_ReplayOfAnEvent(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	keys := bustest.NewServiceKeys(t, kit.OrdersHost)
	publisher := w.Connect(kit.OrdersHost, keys.Prove(), keys.Trust())
	kit.Serve(t, publisher, stock{}, bus.RequireCallers(kit.OrdersHost), bus.ExcludeMethods("Who"))
	kit.Subscribe(t, w.Connect(stockHost), kit.NewSink())
	messages := kit.Tap(t, w, w.Plane()+".417.>")
	kit.Fire(t, kit.NewOrdered(t, publisher), 1)
	_, proof, _ := strings.Cut(string(kit.Await(t, "the event", messages).Data), "Bus-Caller-Proof: ")
	proof, _, _ = strings.Cut(proof, "\r\n")
	require.NotEmpty(t, proof)
	answers := kit.Tap(t, w, w.Plane()+".r.>")
	text := kit.RawRequest("POST /take HTTP/1.1", kit.OrdersHost, "Bus-Caller-Proof: "+proof)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "evil.example", kit.OrdersHost), "e1aaaaaaaa", publisher.ID())
	require.NoError(t, kit.RawClient(t, w).Publish(w.Plane()+".443.example.orders.|.POST.take",
		[]byte(strings.ReplaceAll(text, "\n", "\r\n"))))
	answer := ""
	for !strings.Contains(answer, "Bus-Msg-Id: m1") || !strings.Contains(answer, "Bus-Op-Code: Res") {
		answer = string(kit.Await(t, "the answer", answers).Data)
	}
	assert.Contains(t, answer, "it is meant for another host or port (aud)")
}

// checkStored looks for proofs in the messages of a stored event. It returns one that is stored.
func checkStored(t *testing.T, messages <-chan *nats.Msg) (event *nats.Msg) {
	t.Helper()
	for len(messages) > 0 {
		message := <-messages
		isEvent, isLive := strings.HasPrefix(string(message.Data), "POST /on-ordered "),
			strings.Contains(message.Subject, ".417.") // for subscribers that are not durable
		if isEvent && !isLive {
			event = message
			assert.NotContains(t, string(message.Data), "Bus-Caller-Proof")
		}
	}
	require.NotNil(t, event)
	return event
}

// counted declares who may call, of all its methods and of one.
//
//busline:callers orders.example *.billing.example
type counted interface {
	Take(ctx context.Context) (who string, proven bool)
	//busline:callers audit.example
	Who(ctx context.Context) (who string, proven bool)
}

var _ = reflectapi.Register[counted](`
// counted declares who may call, of all its methods and of one.
//
//busline:callers orders.example *.billing.example
type counted interface {
	Take(ctx context.Context) (who string, proven bool)
	//busline:callers audit.example
	Who(ctx context.Context) (who string, proven bool)
}
`)

// guarded are events that only some may take, which is for calls.
type guarded interface{ OnDone() error }

var _ = reflectapi.Register[guarded]("//busline:callers orders.example\ntype guarded interface { OnDone() error }")

func TestRequireCallers_Declared(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	keys := bustest.NewServiceKeys(t, "orders.example", "audit.example", "vault.example")
	kit.Serve[counted](t, w.Connect(stockHost, keys.Trust()), stock{})
	other := bus.RequireCallers("vault.example")
	kit.Serve[counted](t, w.Connect("vault.example", keys.Trust(), keys.Prove()), stock{}, other)
	kit.Serve[counted](t, w.Connect(kit.OrdersHost, keys.Trust()), stock{}, bus.Method("Who", other))
	for host, want := range map[string][]int{
		"orders.example": {200, 403, 403, 403, 200, 403},
		"audit.example":  {403, 200, 403, 200, 403, 403},
		"vault.example":  {403, 403, 200, 403, 403, 200},
	} {
		caller := w.Connect(host, keys.Prove())
		for i, url := range []string{stockURL + "/take", stockURL + "/who", kit.VaultURL + "/take", kit.VaultURL + "/who",
			"https://" + kit.OrdersHost + "/take", "https://" + kit.OrdersHost + "/who"} {
			assert.Equal(t, want[i], kit.StatusOf(t, t.Context(), caller, "GET", url), "%s %s", host, url)
		}
	}
}

func TestRequireCallers_Refused(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(stockHost)
	for want, options := range map[string][]bus.ServeOption{
		"bus.RequireCallers names no host":                 {bus.RequireCallers()},
		"bus.RequireCallers twice in one place":            {takers(), takers()},
		`who may call: "Orders.example" is neither a host`: {bus.RequireCallers("orders.example", "Orders.example")},
		`who may call: "*" is neither a host`:              {bus.RequireCallers("*")},
		`who may call: "*.*.example" is neither a host`:    {bus.RequireCallers("*.*.example")},
		`who may call: "all" is neither a host`:            {bus.Method("Take", bus.RequireCallers("all"))},
	} {
		assert.ErrorContains(t, bus.Serve(conn, stock{}, options...), want)
	}
	err := bus.Serve(conn, stock{}, bus.RequireCallers("*"))
	require.Error(t, err)
	assert.Equal(t, 1, strings.Count(err.Error(), "who may call"), err)
	assert.ErrorContains(t, events.Subscribe[guarded](conn, "source.example", kit.Happening{}), "the interface has "+
		"//busline:callers orders.example, which is for calls, web methods and interfaces: interfaces of events have none")
	assert.ErrorContains(t, events.Subscribe(conn, "source.example", kit.Happening{},
		bus.Method("OnDone", bus.RequireCallers("source.example"))), "leave out bus.RequireCallers")
}

// TestProof_Allocations holds that a call with a proof allocates no more than one without.
func TestProof_Allocations(t *testing.T) {
	w := &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	keys := bustest.NewServiceKeys(t, "orders.example")
	measure := func(host string, prove, trust bus.ConnectOption, options ...bus.ServeOption) float64 {
		kit.Serve(t, w.Connect(host, trust), kit.Calculator{}, options...)
		caller := w.Connect("orders.example", prove)
		type arguments struct {
			X int `json:"x"`
			Y int `json:"y"`
		}
		add := bus.NewOperation[arguments, struct{ Sum int }](caller, "POST https://"+host+"/add")
		return kit.LeastAllocations(func() {
			if _, err := add.Call(t.Context(), arguments{5, 6}); err != nil {
				t.Fatal(err)
			}
		})
	}
	without := measure("open.example", bus.WithServiceKey(""), bus.WithServiceKeySet(""))
	with := measure("closed.example", keys.Prove(), keys.Trust(), bus.RequireCallers("orders.example"))
	assert.LessOrEqual(t, with, without)
}
