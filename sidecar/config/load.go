package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

const envPrefix = "GPUJOIND_"

// loader collects settings by name, with the source of each.
type loader struct {
	values map[string]string
	origin map[string]string
	errs   []error
}

// Load merges all sources and validates the result. flags are those of Flags and must
// have been parsed; environ has the form of os.Environ. Errors wrap ErrConfig.
func Load(flags *pflag.FlagSet, environ []string) (*Config, error) {
	l := &loader{values: map[string]string{}, origin: map[string]string{}}
	flags.VisitAll(func(f *pflag.Flag) { l.set(f, "default") })
	delete(l.values, "config") // selects a source
	file, err := l.file(flags, environ)
	if err == nil {
		err = l.environment(environ)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "config" {
			l.set(f, "--"+f.Name)
		}
	})
	c := l.build()
	c.File = file
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrConfig, errors.Join(l.errs...))
	}
	return c, nil
}

// set sets a setting to the value of its flag.
func (l *loader) set(f *pflag.Flag, origin string) {
	name := strings.ReplaceAll(f.Name, "-", "_")
	l.values[name], l.origin[name] = f.Value.String(), origin
}

// replace sets a setting that has a value.
func (l *loader) replace(name, value, origin string) error {
	if _, known := l.values[name]; !known {
		return fmt.Errorf("%s: unknown setting %q", origin, name)
	}
	l.values[name], l.origin[name] = value, origin
	return nil
}

// file reads the configuration file, if there is one, and returns its path.
func (l *loader) file(flags *pflag.FlagSet, environ []string) (string, error) {
	path, _ := flags.GetString("config") // Flags defines it
	if path == "" {
		path = lookup(environ, envPrefix+"CONFIG")
	}
	if path == "" {
		if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		path = DefaultFile
	}
	if err := wellKept(path); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, column := bad.Position()
			return "", fmt.Errorf("%s:%d:%d: %w", path, row, column, err)
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, value := fmt.Sprintf("%s:%d", path, lineOf(text, name)), values[name]
		if table, ok := value.(map[string]any); ok { // no setting is one
			name += "." + strings.Join(slices.Sorted(maps.Keys(table)), ", ")
		}
		if err := l.replace(name, fmt.Sprint(value), at); err != nil {
			return "", err
		}
	}
	return path, nil
}

// lineOf returns the line, from 1, that sets key or opens a table of its name.
func lineOf(text []byte, key string) int {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimLeft(line, " \t[\"'")
		rest, ok := strings.CutPrefix(line, key)
		if ok && strings.IndexAny(rest, " \t=.]\"'") == 0 {
			return i + 1
		}
	}
	return 1
}

func lookup(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// environment takes the settings that the environment has.
func (l *loader) environment(environ []string) error {
	for _, e := range environ {
		variable, value, _ := strings.Cut(e, "=")
		name, ours := strings.CutPrefix(variable, envPrefix)
		if !ours || name == "CONFIG" {
			continue
		}
		if err := l.replace(strings.ToLower(name), value, variable); err != nil {
			return err
		}
	}
	return nil
}
