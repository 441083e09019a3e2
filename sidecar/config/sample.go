package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

const sampleHead = `# Settings of gpujoind, as "gpujoind config" prints them. A line that begins with "#"
# and a setting shows the default. Only the owner of this file may be able to write to it.
# "systemctl reload gpujoind", or SIGHUP, puts the settings marked with (reload) into
# force, a restart all of them.
`

// Sample returns a configuration file with all settings. Those flags that were given are
// set, and the others are comments with the defaults.
func Sample(flags *pflag.FlagSet) string {
	var file strings.Builder
	file.WriteString(sampleHead)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "config" { // selects a file
			return
		}
		usage, mark := f.Usage, "#"
		if slices.Contains(Adjustable, f.Name) {
			usage += " (reload)"
		}
		if f.Changed {
			mark = ""
		}
		fmt.Fprintf(&file, "\n# %s\n%s%s = %s\n", usage, mark, strings.ReplaceAll(f.Name, "-", "_"), literal(f.Value.String()))
	})
	return file.String()
}

// literal returns a value as TOML.
func literal(value string) string {
	if _, err := strconv.Atoi(value); err == nil || value == "true" || value == "false" {
		return value
	}
	return strconv.Quote(value)
}
