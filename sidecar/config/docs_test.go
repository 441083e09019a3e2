package config

import (
	"os"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocumented holds the table of settings in docs/daemon.md against the
// flags and their defaults.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/daemon.md")
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(fs)
	documented := map[string]string{"config": ""}
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^`]*)`|none) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = m[2]
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if def, ok := documented[f.Name]; !ok || def != f.DefValue {
			t.Errorf("--%s, default %q: documented %v with default %q", f.Name, f.DefValue, ok, def)
		}
		delete(documented, f.Name)
	})
	for name := range documented {
		t.Errorf("--%s is documented and does not exist", name)
	}
}
