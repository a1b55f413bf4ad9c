package portal_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/portal"
)

// TestRebinding has sites ask a server on this machine under names of their own, as a browser does for them.
func TestRebinding(t *testing.T) {
	t.Parallel()
	door := open(t)
	behind, err := portal.NewIngress(door.bus.Connect("ingress"), portal.WithTrustedProxies("10.0.0.0/8"))
	if err != nil {
		t.Fatal(err)
	}
	const local, foreign = "localhost LOCALHOST:8080 app.localhost localhost. 127.0.0.1:8080 [::1] 192.0.2.1", "evil.example localhost.evil.example 127.0.0.1.evil.example api.example.com:443"
	tests := []struct {
		name     string
		handler  http.Handler
		options  []portal.ServerOption
		accepted string
		refused  string
	}{
		{"on loopback", door.ingress, nil, local, foreign},
		{"with a base URL here", door.ingress, []portal.ServerOption{portal.WithBaseURL("http://bus.localhost:8080/bus")}, local, foreign},
		{"with a base URL elsewhere", door.ingress, []portal.ServerOption{portal.WithBaseURL("https://api.example.com")}, local + " " + foreign, ""},
		{"on all addresses", door.ingress, []portal.ServerOption{portal.WithAddress("0.0.0.0:0")}, local + " " + foreign, ""},
		{"behind a proxy", behind, nil, local + " " + foreign, ""},
	}
	for _, test := range tests {
		server, stop := listenTo(t, test.handler, test.options...)
		_, port, err := net.SplitHostPort(server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(host string) answer {
			return sendTo(t, "127.0.0.1:"+port, "GET /-/healthy HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n", http.MethodGet)
		}
		for host := range strings.FieldsSeq(test.accepted) {
			if got := ask(host); got.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: status %d: %s", test.name, host, got.StatusCode, got.text)
			}
		}
		for host := range strings.FieldsSeq(test.refused) {
			if told := ask(host).problem(t); told.Status != http.StatusMisdirectedRequest || told.Host != "ingress" || told.Executed != "no" ||
				told.Detail != `"`+host+`" is not this machine, for which alone the server listens; set BUS_BASE_URL to the address that people use` {
				t.Errorf("%s: %s: %+v", test.name, host, told)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}
