package markdown

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine returns a sentence or two about where and when something was measured, with the versions of Go and of the
// modules in the measuring program.
func Machine(now time.Time) string {
	text := fmt.Sprintf("Measured on %s with %d cores%s, %s/%s, Go %s", now.Format("2 January 2006"),
		runtime.GOMAXPROCS(0),
		processor(), runtime.GOOS, runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"))
	if modules := modules(); len(modules) > 0 {
		text += ", " + strings.Join(modules, ", ")
	}
	return text + "."
}

// processor returns the model of the processor, if the system reports it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		if name, model, _ := bytes.Cut(line, []byte(":")); string(bytes.TrimSpace(name)) == "model name" {
			return " of " + string(bytes.TrimSpace(model))
		}
	}
	return ""
}

// modules returns names and versions of the compared modules.
func modules() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	major := regexp.MustCompile(`/v\d+$`)
	var found []string
	for _, module := range info.Deps {
		switch name := major.ReplaceAllString(module.Path, ""); name {
		case "github.com/nats-io/nats.go", "github.com/nats-io/nats-server", "google.golang.org/grpc",
			"github.com/grpc-ecosystem/grpc-gateway",
			"connectrpc.com/connect", "github.com/fullstorydev/grpchan":
			found = append(found, path.Base(name)+" "+strings.TrimPrefix(module.Version, "v"))
		}
	}
	return found
}
