package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (s *session) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Which busline this is",
		Long: "Prints the version of the module, the commit if the build knows it, and the version of Go, " +
			"like busline --version.",
		Example: examples("busline version"),
		RunE: func(_ *cobra.Command, operands []string) error {
			if len(operands) > 0 {
				return misuse("version takes no arguments")
			}
			return s.version()
		},
	}
}

// version prints what the build contains about itself.
func (s *session) version() error {
	var info struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Go       string `json:"go"`
	}
	info.Version, info.Go = "unknown", runtime.Version()
	if build, ok := debug.ReadBuildInfo(); ok {
		info.Version = cmp.Or(build.Main.Version, info.Version)
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Revision = setting.Value
			}
		}
	}
	if s.settings.json {
		return s.print("%s\n", jsonOf(info))
	}
	revision := ""
	if info.Revision != "" {
		revision = " " + info.Revision
	}
	return s.print("busline %s%s %s\n", info.Version, revision, info.Go)
}
