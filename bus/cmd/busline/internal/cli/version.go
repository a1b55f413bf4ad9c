package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (s *session) newVersion() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "version",
		Short: "Which busline this is",
		Long: "Prints the version of the module, the commit if the build knows it, and the version of Go, " +
			"like busline --version.",
		Example: examples("busline version"),
		Args:    NoOperands,
		RunE:    func(*cobra.Command, []string) error { return s.version() },
	})
}

// buildInfo is what the build contains about itself.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

// Version returns the version of the module that the command was built from, "unknown" if the build does not tell.
func Version() string { return readBuild().Version }

func readBuild() buildInfo {
	info := buildInfo{Version: "unknown", Go: runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		info.Version = cmp.Or(build.Main.Version, info.Version)
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Revision = setting.Value
			}
		}
	}
	return info
}

// version prints what the build contains about itself.
func (s *session) version() error {
	info := readBuild()
	if s.settings.IsJSON() {
		return s.print("%s\n", jsonOf(info))
	}
	revision := ""
	if info.Revision != "" {
		revision = " " + info.Revision
	}
	return s.print("busline %s%s %s\n", info.Version, revision, info.Go)
}
