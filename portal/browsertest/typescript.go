package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/busline/busline/bus"
)

// clientPage calls services with the TypeScript client that the portal has for the page's caller.
const clientPage = `<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
import {connect, Problem} from "./bus.js";
const bus = connect({baseUrl: location.origin});
const seen = [];
seen.push((await bus.calculator.add({x: 9007199254740993n, y: 1n})).sum);
try {
	await bus.calculator.arithmetic({x: 1n, op: "/", y: 0n});
} catch (err) {
	seen.push(err instanceof Problem && err.status);
}
for await (const n of bus.trouble.count({n: 1000n, pauseMs: 20n})) {
	seen.push(n);
	if (n === 2n) break;
}
const before = (await bus.trouble.cancelled()).count;
seen.push(await bus.trouble.sleep({ms: 60000n}, {signal: AbortSignal.timeout(50)}).catch((err) => err.name));
while ((await bus.trouble.cancelled()).count === before);
for await (const {id, payload} of bus.orders.events.ordered({lastEventId: "0"})) {
	seen.push(id, payload.item, payload.quantity);
	break;
}
document.body.innerText = seen.join();
</script>`

// startPage starts a service with a page, and the client that it imports, without its types.
func (s *stage) startPage() error {
	conn, err := s.join("page.example")
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/{path+}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, clientPage)
			return
		}
		script, err := s.client()
		if err != nil {
			bus.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script)
	}), bus.Undocumented())
}

// client returns the client without its types.
func (s *stage) client() ([]byte, error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.baseURL+"/portal/client.ts?int64=bigint",
		http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	source, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	script := api.Transform(string(source), api.TransformOptions{Loader: api.LoaderTS, Target: api.ES2022})
	if len(script.Errors) > 0 {
		return nil, fmt.Errorf("client.ts: %s", script.Errors[0].Text)
	}
	return script.Code, nil
}

// calling opens a page that calls services with the portal's client.
func calling(v *visit) error {
	return do(v.startExamples, v.startOrders("Tea"), v.startPage, v.opens("../page.example/page"),
		v.sees("body", "9007199254740994,400,1,2,TimeoutError,1,Tea,1"))
}
