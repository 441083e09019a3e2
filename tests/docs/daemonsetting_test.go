package docs

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpujoin/sidecar/config"

	"github.com/spf13/pflag"
)

// daemonSetting is a setting of gpujoind.
type daemonSetting struct {
	name, value, values, text string
	reload                    bool
}

var loader = regexp.MustCompile(`l\.(size|duration|integer|boolean|choice|checksum|share|path|loopback)\("(\w+)"(?:, ([^)]*))?\)`)

// duration matches the zeros of a time such as 1h0m0s.
var duration = regexp.MustCompile(`^(\d+[hm])(?:0m)?0s$`)

// daemonSettings returns all settings with the kind of value that the daemon reads.
func daemonSettings(t *testing.T) []daemonSetting {
	t.Helper()
	kinds := map[string]string{"socket": "path", "trace": "path"} // read as they are
	for _, m := range loader.FindAllStringSubmatch(read(t, "sidecar", "config", "build.go"), -1) {
		kinds[m[2]] = valuesOf(t, m[1], m[3])
	}
	var out []daemonSetting
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.Flags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		name := strings.ReplaceAll(f.Name, "-", "_")
		if name == "config" { // names the file of the settings
			return
		}
		if kinds[name] == "" {
			t.Errorf("the kind of %s is unknown", name)
		}
		out = append(out, daemonSetting{name, duration.ReplaceAllString(f.DefValue, "$1"), kinds[name], f.Usage, slices.Contains(config.Adjustable, f.Name)})
	})
	return out
}

// valuesOf describes what a function of the loader accepts.
func valuesOf(t *testing.T, function, args string) string {
	t.Helper()
	switch function {
	case "size":
		if args == "0" {
			return "size"
		}
		return "size or percentage"
	case "share":
		return "size or percentage"
	case "duration":
		return "time"
	case "path":
		return "absolute path"
	case "loopback":
		return "address and port"
	case "checksum":
		return "64 hexadecimal digits"
	case "choice":
		return strings.ReplaceAll(args, `"`, "`")
	case "boolean":
		return "`true`, `false`"
	}
	low, high, _ := strings.Cut(args, ", ")
	switch high {
	case "math.MaxInt":
		return low + " or more"
	case "1<<20":
		high = strconv.Itoa(1 << 20)
	case "1<<16":
		high = strconv.Itoa(math.MaxUint16 + 1)
	}
	if _, err := strconv.Atoi(high); err != nil {
		t.Errorf("the limit %s is unknown", high)
	}
	return low + " to " + high
}
