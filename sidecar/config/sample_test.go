package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// TestSample: a file with all settings, none of which is set, and whose defaults are those
// of the flags; a flag that is given is set.
func TestSample(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(fs)
	c, err := load(t, Sample(fs), 0o600, nil)
	if err != nil || c.Window != 16 {
		t.Fatalf("%+v, %v", c, err)
	}
	all := regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(Sample(fs), "$1")
	var values map[string]any
	if err := toml.Unmarshal([]byte(all), &values); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, all, 0o600, nil); err != nil {
		t.Error(err)
	}
	fs.VisitAll(func(f *pflag.Flag) {
		name := strings.ReplaceAll(f.Name, "-", "_")
		if value, ok := values[name]; f.Name != "config" && (!ok || fmt.Sprint(value) != f.DefValue) {
			t.Errorf("%s is %v in the file, and by default %q", name, value, f.DefValue)
		}
	})
	if err := fs.Parse([]string{"--window", "4", "--state-dir", "/x/y", "--log-level", "warn"}); err != nil {
		t.Fatal(err)
	}
	if c, err = load(t, Sample(fs), 0o600, nil); err != nil || c.Window != 4 || c.StateFile("rates") != "/x/y/gpujoind.sock.rates" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAdjust: a running daemon takes the adjustable settings, and no other.
func TestAdjust(t *testing.T) {
	old, err := load(t, "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	// What Adjust copies and what it lists must be the same.
	found, err := load(t, "connections = 7\nhello_timeout = \"1s\"\nidle_timeout = \"2s\"\nlog_level = \"warn\"\nspool_after = \"3s\"\nstop_timeout = \"4s\"\nwindow = 9\n", 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, changed, later := old.Adjust(found)
	for i, name := range changed {
		changed[i] = strings.ReplaceAll(name, "_", "-")
	}
	if !slices.Equal(changed, Adjustable) || !slices.Equal(later, []string{"window"}) {
		t.Errorf("changed %v, later %v", changed, later)
	}
	want := *old
	want.Connections, want.LogLevel, want.Settings, want.written = 7, "warn", next.Settings, next.written
	want.HelloTimeout, want.IdleTimeout, want.SpoolAfter, want.StopTimeout = 1e9, 2e9, 3e9, 4e9
	if !reflect.DeepEqual(*next, want) {
		t.Errorf("%+v in place of %+v", *next, want)
	}
	if _, changed, later = next.Adjust(found); len(changed) > 0 || !slices.Equal(later, []string{"window"}) {
		t.Errorf("the second time: changed %v, later %v", changed, later)
	}
}
