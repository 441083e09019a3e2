package cli

import (
	"testing"

	"gpujoin/joincore/costmodel"
	"gpujoin/sidecar/config"

	"github.com/spf13/pflag"
)

// The daemon accepts the names of all strategies, and no others.
func TestStrategySetting(t *testing.T) {
	for _, name := range append(costmodel.Strategies(), "none") {
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		config.Flags(flags)
		if err := flags.Parse([]string{"--cuda-strategy", name}); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(flags, nil)
		if known := name != "none"; (err == nil) != known || known && c.CUDAStrategy != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
