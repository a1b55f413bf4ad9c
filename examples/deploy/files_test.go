package deploy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// flags are those that the Dockerfile builds with.
const flags = `-trimpath -ldflags "-s -w"`

func TestDockerfile(t *testing.T) {
	t.Parallel()
	parsed, err := parser.Parse(strings.NewReader(read(t, "Dockerfile")))
	require.NoError(t, err)
	stages, _, err := instructions.Parse(parsed.AST, nil)
	require.NoError(t, err)
	require.Len(t, stages, 2)
	assert.Contains(t, fmt.Sprint(stages[0].Commands[len(stages[0].Commands)-1]), "CGO_ENABLED=0 go build "+flags)
	final := stages[1]
	assert.Equal(t, "gcr.io/distroless/static-debian12:nonroot", final.BaseName)
	var user string
	var entrypoint *instructions.EntrypointCommand
	for _, command := range final.Commands {
		switch command := command.(type) {
		case *instructions.UserCommand:
			user = command.User
		case *instructions.EntrypointCommand:
			entrypoint = command
		case *instructions.RunCommand:
			t.Errorf("RUN %v: the final image has no shell", command.CmdLine)
		}
	}
	assert.Equal(t, "nonroot", user)
	require.NotNil(t, entrypoint)
	assert.False(t, entrypoint.PrependShell, "ENTRYPOINT in exec form, as the image has no shell")
	assert.Equal(t, []string{"/program"}, entrypoint.CmdLine)
}

func TestCompose(t *testing.T) {
	t.Parallel()
	options, err := cli.NewProjectOptions([]string{"compose.yaml"})
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, project.Services["nats"].HealthCheck.Test)
	assert.Equal(t, 2, *project.Services["products"].Deploy.Replicas)
	assert.Equal(t, "8080", project.Services["gateway"].Ports[0].Published)
	for name, service := range project.Services {
		assert.Equal(t, "unless-stopped", service.Restart, name)
		for variable := range service.Environment {
			requireVariable(t, variable)
		}
		if name == "nats" {
			continue
		}
		assert.Equal(t, "service_healthy", service.DependsOn["nats"].Condition, name)
		assert.Equal(t, "examples/deploy/Dockerfile", service.Build.Dockerfile, name)
		assert.Greater(t, time.Duration(*service.StopGracePeriod), drain(t), name)
	}
}

// drain is how long a program may take to stop: the ingress for its requests, any service for the calls under way.
func drain(t *testing.T) time.Duration {
	t.Helper()
	return max(limit(t, "portal/ingress: defaultGrace"), limit(t, "bus/wire: DefaultTimeBudget"))
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	read := manifests(t)
	require.Len(t, read, 3)
	for name, manifest := range read {
		pod := manifest.pods.Spec
		container := pod.Containers[0]
		labels := manifest.pods.Labels
		assert.Equal(t, labels, manifest.budget.Spec.Selector.MatchLabels, name)
		assert.Equal(t, 1, manifest.budget.Spec.MaxUnavailable.IntValue(), name)
		assert.GreaterOrEqual(t, manifest.replicas, 2, name)
		assert.True(t, *pod.SecurityContext.RunAsNonRoot, name)
		assert.NotZero(t, *pod.SecurityContext.RunAsUser, name)
		assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, name)
		assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, name)
		assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation, name)
		assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop, name)
		assert.NotEmpty(t, container.Resources.Requests, name)
		assert.NotEmpty(t, container.Resources.Limits, name)
		assert.Greater(t, grace(manifest), drain(t), name)
		for _, variable := range container.Env {
			requireVariable(t, variable.Name)
		}
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
			_, found := port(container, probe.HTTPGet.Port.StrVal)
			assert.True(t, found, "%s: port %s", name, probe.HTTPGet.Port.StrVal)
		}
		if manifest.service != nil {
			assert.Equal(t, labels, manifest.service.Spec.Selector, name)
		}
	}
	gateway := read["gateway"].pods.Spec.Containers[0]
	http, _ := port(gateway, "http")
	assert.Contains(t, gateway.Env, corev1.EnvVar{Name: "BUS_HTTP_ADDR", Value: fmt.Sprintf(":%d", http)})
	assert.Equal(t, http, read["gateway"].service.Spec.Ports[0].Port)
	products := read["products"].pods.Spec.Containers[0]
	probes, _ := port(products, "probes")
	assert.Equal(t, []string{"-probes", fmt.Sprintf(":%d", probes)}, products.Args)
}

// grace is the time that a program has from SIGTERM until it is killed.
func grace(of *manifest) time.Duration {
	seconds := *of.pods.Spec.TerminationGracePeriodSeconds
	if lifecycle := of.pods.Spec.Containers[0].Lifecycle; lifecycle != nil && lifecycle.PreStop.Sleep != nil {
		seconds -= lifecycle.PreStop.Sleep.Seconds
	}
	return time.Duration(seconds) * time.Second
}

// port returns the number of a port that has a name.
func port(container corev1.Container, name string) (number int32, found bool) {
	for _, port := range container.Ports {
		if port.Name == name {
			return port.ContainerPort, true
		}
	}
	return 0, false
}

func TestNATS(t *testing.T) {
	t.Parallel()
	read := manifests(t)
	nats := read["nats"]
	options := natsOptions(t)
	container := nats.pods.Spec.Containers[0]
	for name, want := range map[string]int{"client": options.Port, "cluster": options.Cluster.Port,
		"monitor": options.HTTPPort} {
		number, _ := port(container, name)
		assert.EqualValues(t, want, number, name)
	}
	assert.True(t, options.JetStream)
	assert.Equal(t, "/data", options.StoreDir)
	assert.Contains(t, container.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: options.StoreDir})
	assert.Contains(t, container.VolumeMounts, corev1.VolumeMount{Name: "config", MountPath: "/etc/nats"})
	assert.Equal(t, []string{"nats-server", "--config", "/etc/nats/nats.conf", "--name", "$(POD_NAME)"}, container.Command)
	assert.Greater(t, grace(nats), options.LameDuckDuration)
	assert.Equal(t, corev1.ClusterIPNone, nats.service.Spec.ClusterIP)
	affinity := nats.pods.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	assert.Equal(t, nats.pods.Labels, affinity.LabelSelector.MatchLabels)
	require.Len(t, options.Routes, nats.replicas)
	var urls []string
	for i, route := range options.Routes {
		host := fmt.Sprintf("nats-%d.%s", i, nats.service.Name)
		assert.Equal(t, fmt.Sprintf("%s:%d", host, options.Cluster.Port), route.Host)
		urls = append(urls, fmt.Sprintf("nats://%s:%d", host, options.Port))
	}
	url := corev1.EnvVar{Name: "BUS_NATS_URL", Value: strings.Join(urls, ",")}
	assert.Contains(t, read["products"].pods.Spec.Containers[0].Env, url)
	assert.Contains(t, read["gateway"].pods.Spec.Containers[0].Env, url)
}

// allMetrics is where an ingress reports the metrics of all instances.
const allMetrics = "/-/metrics/all"

func TestScrape(t *testing.T) {
	t.Parallel()
	var config struct {
		ScrapeConfigs []struct {
			Job      string `json:"job_name"`
			Path     string `json:"metrics_path"`
			Interval string `json:"scrape_interval"`
			Timeout  string `json:"scrape_timeout"`
			Static   []struct {
				Targets []string `json:"targets"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
		RuleFiles []string `json:"rule_files"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(read(t, "prometheus/scrape.yaml")), &config))
	require.Len(t, config.ScrapeConfigs, 1)
	assert.Equal(t, []string{"alerts.yaml"}, config.RuleFiles)
	assert.Equal(t, allMetrics, config.ScrapeConfigs[0].Path)
	service := manifests(t)["gateway"].service
	assert.Equal(t, []string{fmt.Sprintf("%s:%d", service.Name, service.Spec.Ports[0].Port)},
		config.ScrapeConfigs[0].Static[0].Targets)
}
