package deploy_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// TestPrograms runs a server with the configuration of the cluster, and the programs as the image has them. Then it
// holds probes, names and alerts to what they answer.
func TestPrograms(t *testing.T) {
	t.Parallel()
	broker, monitor := startNATS(t)
	address := freeAddress(t)
	products, probes := start(t, "./examples/products", []string{"-probes", address},
		"BUS_NATS_URL="+broker), "http://"+address
	products.Await("products.example is on the bus")
	gateway := start(t, "./bus/cmd/busline", []string{"gateway"}, "BUS_NATS_URL="+broker, "BUS_HTTP_ADDR=127.0.0.1:0")
	ingress := gateway.Await("ready ")
	subscribe(t, broker)

	served := map[string]string{"nats": monitor, "products": probes, "gateway": ingress}
	for name, manifest := range manifests(t) {
		container := manifest.pods.Spec.Containers[0]
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe != nil {
				get(t, served[name]+probe.HTTPGet.Path)
			}
		}
	}
	get(t, probes+"/metrics")

	assert.Subset(t, parameters(t, get(t, ingress+"/products.example/openapi.json")),
		[]string{"id", "sortBy", "limit", "offset"})
	assert.JSONEq(t, `[]`, get(t, ingress+"/products.example/products?limit=3"))
	exposed := get(t, ingress+allMetrics)
	for !strings.Contains(exposed, "busline_event_backlog") && t.Context().Err() == nil { // the publisher looks soon
		exposed = get(t, ingress+allMetrics)
	}
	checkAlerts(t, exposed)
	gateway.Stop()
	products.Stop()
}

// startNATS runs one server of the cluster, without the others, and returns its addresses.
func startNATS(t *testing.T) (client, monitor string) {
	t.Helper()
	options := natsOptions(t)
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	options.HTTPHost, options.HTTPPort = "127.0.0.1", server.RANDOM_PORT
	options.Cluster, options.Routes, options.StoreDir, options.NoSigs = server.ClusterOpts{}, nil, t.TempDir(), true
	nats, err := server.NewServer(options)
	require.NoError(t, err)
	nats.Start()
	t.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	require.True(t, nats.ReadyForConnections(time.Minute))
	return nats.ClientURL(), "http://" + nats.MonitorAddr().String()
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// start builds a program with the flags of the Dockerfile and runs it in an empty folder, where no source is.
func start(t *testing.T, program string, arguments []string, environment ...string) *exampletest.Program {
	t.Helper()
	executable := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "sh", "-c", `go build `+flags+` -o "$0" "$1"`, executable, program)
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	run := exec.CommandContext(t.Context(), executable, arguments...)
	run.Dir = t.TempDir()
	return exampletest.StartCommand(t, run, environment...)
}

// orders handles the events of ordersapi.
type orders struct{}

func (orders) OnOrdered(context.Context, int, string, int) error { return nil }

// subscribe adds a subscriber of stored events and their publisher to the bus, which have metrics of their own.
func subscribe(t *testing.T, broker string) {
	t.Helper()
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(t.Context(), host, bus.WithURL(broker))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, conn.Close(context.Background())) })
		return conn
	}
	require.NoError(t, events.Subscribe[ordersapi.Events](connect("subscriber.example"), ordersapi.Host, orders{},
		events.Durable()))
	_, err := ordersapi.NewPublisher(connect(ordersapi.Host), events.Durable())
	require.NoError(t, err)
}

// get returns the body of a response that has to have the status 200.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", url, body)
	return string(body)
}

// parameters returns the names of all parameters in an OpenAPI document.
func parameters(t *testing.T, document string) (names []string) {
	t.Helper()
	var parsed struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal([]byte(document), &parsed))
	for _, operations := range parsed.Paths {
		for _, operation := range operations {
			for _, parameter := range operation.Parameters {
				names = append(names, parameter.Name)
			}
		}
	}
	return names
}

// checkAlerts holds that the bus exposes every metric that an alert is about.
func checkAlerts(t *testing.T, exposed string) {
	t.Helper()
	format := expfmt.NewTextParser(model.UTF8Validation)
	families, err := format.TextToMetricFamilies(strings.NewReader(exposed))
	require.NoError(t, err)
	known := slices.Collect(maps.Keys(families))
	promql := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile("prometheus/alerts.yaml", false, model.UTF8Validation, promql,
		promslog.NewNopLogger())
	require.Empty(t, errs)
	for _, rule := range groups.Groups[0].Rules {
		expression, err := promql.ParseExpr(rule.Expr)
		require.NoError(t, err, rule.Alert)
		for _, selectors := range parser.ExtractSelectors(expression) {
			for _, matcher := range selectors {
				if matcher.Name == model.MetricNameLabel {
					assert.Contains(t, known, strings.TrimSuffix(matcher.Value, "_count"), rule.Alert)
				}
			}
		}
	}
}
