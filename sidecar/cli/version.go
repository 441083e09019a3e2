package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"gpujoin/shm"
	"gpujoin/sidecar"

	"github.com/spf13/cobra"
)

func (c *command) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print versions",
		Args:  noArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return json.NewEncoder(c.out).Encode(map[string]any{
				"version": sidecar.Version, "protocol": shm.ProtocolVersion, "layout": shm.LayoutVersion,
				"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		}
		_, err := fmt.Fprintln(c.out, versionText())
		return err
	}
	return cmd
}

// versionText returns all versions in one line.
func versionText() string {
	return fmt.Sprintf("gpujoind %s, protocol %d, layout %d, %s %s/%s", sidecar.Version,
		shm.ProtocolVersion, shm.LayoutVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
