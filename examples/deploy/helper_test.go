package deploy_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// manifest is all that a file of the folder kubernetes describes.
type manifest struct {
	name     string
	pods     *corev1.PodTemplateSpec
	replicas int
	budget   *policyv1.PodDisruptionBudget
	service  *corev1.Service
	config   *corev1.ConfigMap
}

// manifests decodes the files strictly: a field that the API does not have is an error.
func manifests(t *testing.T) map[string]*manifest {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	require.NoError(t, err)
	read := make(map[string]*manifest)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		read[name] = readManifest(t, name, file)
	}
	return read
}

func readManifest(t *testing.T, name, file string) *manifest {
	t.Helper()
	m := &manifest{name: name}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind struct{ Kind string }
		require.NoError(t, yaml.Unmarshal(document, &kind), file)
		decode := func(into any) { require.NoError(t, yaml.UnmarshalStrict(document, into), "%s: %s", file, kind.Kind) }
		switch kind.Kind {
		case "Deployment":
			var deployment appsv1.Deployment
			decode(&deployment)
			m.pods, m.replicas = &deployment.Spec.Template, int(*deployment.Spec.Replicas)
			require.Zero(t, deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue(), file)
		case "StatefulSet":
			var set appsv1.StatefulSet
			decode(&set)
			m.pods, m.replicas = &set.Spec.Template, int(*set.Spec.Replicas)
		case "PodDisruptionBudget":
			m.budget = new(policyv1.PodDisruptionBudget)
			decode(m.budget)
		case "Service":
			m.service = new(corev1.Service)
			decode(m.service)
		case "ConfigMap":
			m.config = new(corev1.ConfigMap)
			decode(m.config)
		default:
			t.Fatalf("%s: the test does not know the kind %q", file, kind.Kind)
		}
	}
	return m
}

// natsOptions parses the configuration in the ConfigMap as nats-server does.
func natsOptions(t *testing.T) *server.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, []byte(manifests(t)["nats"].config.Data["nats.conf"]), 0o600))
	options, err := server.ProcessConfigFile(path)
	require.NoError(t, err)
	return options
}

// limit returns the value of a constant in the table of limits, which a test in docs holds to the code.
func limit(t *testing.T, constant string) time.Duration {
	t.Helper()
	match := regexp.MustCompile("`" + constant + ` = (\d+) \* time.Second`).FindStringSubmatch(read(t,
		"../../docs/reference/limits.md"))
	require.NotNil(t, match, constant)
	seconds, err := strconv.Atoi(match[1])
	require.NoError(t, err)
	return time.Duration(seconds) * time.Second
}

// requireVariable fails unless docs/reference/configuration.md, which a test holds to the code, has a variable of
// Busline.
func requireVariable(t *testing.T, name string) {
	t.Helper()
	isDocumented := regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`[^|]*\\|").MatchString(read(t,
		"../../docs/reference/configuration.md"))
	require.True(t, isDocumented || !strings.HasPrefix(name, "BUS_"),
		"%s has no row in docs/reference/configuration.md", name)
}
