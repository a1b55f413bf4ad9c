package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
)

func newVersion() *command {
	return &command{
		name:     "version",
		summary:  "which busline this is",
		about:    "Prints the version of the module, the commit if the build knows it, and the version of Go, like busline --version.",
		examples: []string{"busline version"},
		run: func(_ context.Context, s *session, operands []string) error {
			if len(operands) > 0 {
				return misuse("version takes no arguments")
			}
			return s.version()
		},
	}
}

// version prints what the build contains about itself.
func (s *session) version() error {
	var told struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Go       string `json:"go"`
	}
	told.Version, told.Go = "unknown", runtime.Version()
	if build, ok := debug.ReadBuildInfo(); ok {
		told.Version = cmp.Or(build.Main.Version, told.Version)
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				told.Revision = setting.Value
			}
		}
	}
	if s.settings.json {
		return s.print("%s\n", jsonOf(told))
	}
	revision := ""
	if told.Revision != "" {
		revision = " " + told.Revision
	}
	return s.print("busline %s%s %s\n", told.Version, revision, told.Go)
}
