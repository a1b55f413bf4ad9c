package portal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// servedBy is a row of counts that a hostile instance reports.
func servedBy(caller, more string) string {
	return `{"endpoint":"Stranger.Add","path":"/add","port":443,"caller":"` + caller + `",` + more + `}`
}

func traffic(served ...string) string {
	return `{"started":"2000-01-01T00:00:00Z","served":[` + strings.Join(served, ",") + `],"made":[]}`
}

// TestLiveOf_Strangers has one of two services tell what cannot be. The other one is shown all the same.
func TestLiveOf_Strangers(t *testing.T) {
	t.Parallel()
	const fine = `"buckets":[1],"took":1,"refused":0,"failed":0`
	callers := make([]string, 10_000)
	for at := range callers {
		callers[at] = servedBy(fmt.Sprintf("caller%d.example", at), fine)
	}
	for name, test := range map[string]struct{ told, leftOut string }{
		"no JSON":             {`<script>alert(1)</script>`, "its answer cannot be read"},
		"cut":                 {traffic(servedBy("a", fine))[:40], "its answer cannot be read"},
		"nothing":             {``, "its answer cannot be read"},
		"a list":              {`[]`, "its answer cannot be read"},
		"other types":         {`{"started":1,"served":{}}`, "its answer cannot be read"},
		"negative":            {traffic(servedBy("a", `"buckets":[-1]`)), "it reports impossible requests"},
		"more failed":         {traffic(servedBy("a", `"buckets":[1],"failed":2`)), "it reports impossible requests"},
		"too many buckets":    {traffic(servedBy("a", `"buckets":[`+strings.Repeat("0,", 19)+`1]`)), "it reports impossible requests"},
		"overflow":            {traffic(servedBy("a", `"buckets":[9223372036854775807,9223372036854775807]`)), "it reports impossible requests"},
		"beyond 64 bits":      {traffic(servedBy("a", `"buckets":[1e30]`)), "its answer cannot be read"},
		"no hostname":         {traffic(servedBy("<img src=x>", fine)), "it reports impossible requests"},
		"upper case":          {traffic(servedBy("A", fine)), "it reports impossible requests"},
		"no port":             {strings.Replace(traffic(servedBy("a", fine)), "443", "70000", 1), "it reports impossible requests"},
		"no path":             {strings.Replace(traffic(servedBy("a", fine)), "/add", "add", 1), "it reports impossible requests"},
		"a long path":         {strings.Replace(traffic(servedBy("a", fine)), "/add", "/"+strings.Repeat("a", 2000), 1), "it reports impossible requests"},
		"a control character": {strings.Replace(traffic(servedBy("a", fine)), "Stranger.Add", `a\u0000b`, 1), "it reports impossible requests"},
		"thousands":           {traffic(callers...), "it reports 10000 callers and callees; the limit is 8192"},
		"calls of nobody":     {`{"started":"2000-01-01T00:00:00Z","made":[{"callee":"","buckets":[1]}]}`, "it reports impossible calls"},
		"negative calls":      {`{"started":"2000-01-01T00:00:00Z","made":[{"callee":"a","failed":-1}]}`, "it reports impossible calls"},
		"huge":                {`{"x":"` + strings.Repeat("a", 4<<20) + `"}`, "it answers with more than 4194304 bytes"},
		"silence":             {"hang", "it did not answer in time"},
		"fine":                {traffic(servedBy("a", fine)), ""},
		"hundreds":            {traffic(callers[:300]...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				stranger := newStranger(t, b, "stranger.example")
				stranger.tells("/traffic", test.told)
				serveCounter(t, b.Connect("counter.example"))
				call(t, b.Connect("caller.example"), 3, "https://counter.example/slow")
				w := watch(t, b)
				got := w.look("")
				if edge := got.edge("caller.example", "counter.example"); edge == nil || edge.Calls != 3 || got.names() != "counter.example stranger.example" {
					t.Errorf("%.2000s", fmt.Sprint(got))
				}
				want := "The counts of s1aaaaaaaa.stranger.example are left out: " + test.leftOut + "."
				if all := strings.Join(got.LeftOut, "\n"); test.leftOut == "" && all != "" || test.leftOut != "" && all != want {
					t.Errorf("%q, want %q", all, want)
				}
				if test.leftOut != "" && len(got.Edges) != 1 {
					t.Errorf("it is believed in part: %+v", got.Edges)
				}
				if name == "hundreds" && (len(got.Edges) != 1+257 || got.edge("others", "stranger.example").Calls != 44) {
					t.Errorf("%d edges", len(got.Edges))
				}
			}, broker.MaxPayload(8<<20))
		})
	}
}

// TestLiveOf_BackwardCounters has a stranger count backwards, and be started anew again and again.
func TestLiveOf_BackwardCounters(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		stranger := newStranger(t, b, "stranger.example")
		w := watch(t, b)
		for at, count := range []int64{5, 3, 4398046511104, 0, 4398046511104, 1} {
			told := traffic(servedBy("a", fmt.Sprintf(`"buckets":[%d]`, count)))
			stranger.tells("/traffic", strings.Replace(told, "2000", fmt.Sprint(1990+at/2), 1))
			_, body := w.get("")
			var got liveAnswer
			if err := json.Unmarshal([]byte(body), &got); err != nil || strings.Contains(body, ":-") {
				t.Fatalf("%v: %s", err, body)
			}
			if edge := got.edge("a", "stranger.example"); edge == nil || edge.Calls != count {
				t.Errorf("%d: %+v", count, got.Edges)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// FuzzTraffic holds that whatever an instance tells becomes a view that can be read and has nothing in it that cannot be.
func FuzzTraffic(f *testing.F) {
	for _, seed := range []string{
		traffic(servedBy("a", `"buckets":[1,2],"took":1,"failed":1`)), traffic(servedBy("", `"buckets":[]`)),
		`{"started":"2026-01-01T00:00:00Z","made":[{"callee":"b.example","buckets":[0,4],"failed":4}]}`, `{}`, `null`,
		strings.Replace(traffic(servedBy("a", `"buckets":[4398046511104]`)), "Stranger.Add", "* /add", 1),
	} {
		f.Add([]byte(seed), []byte(traffic(servedBy("a", `"buckets":[1]`))))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		body, err := portal.LiveOf(first, second)
		if err != nil {
			t.Fatal(err)
		}
		var got liveAnswer
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for at := range got.Edges {
			edge := &got.Edges[at]
			for _, count := range []int64{edge.Calls, edge.Failed, edge.Refused, edge.Recent.Calls, edge.Recent.Failed} {
				if count < 0 {
					t.Errorf("%q, %q: %+v", first, second, edge)
				}
			}
		}
	})
}
