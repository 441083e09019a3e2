package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	gotoml "github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

const envPrefix = "GPUJOIND_"

// notSettings are the flags that select a source of settings or that individual
// commands define.
var notSettings = []string{"config", "help", "json"}

// loader collects settings by name and records the source of each.
type loader struct {
	k      *koanf.Koanf
	origin map[string]string
	errs   []error
}

// Load merges all sources and validates the result. flags must have been
// parsed; environ has the form of os.Environ. Errors wrap ErrConfig.
func Load(flags *pflag.FlagSet, environ []string) (*Config, error) {
	l := &loader{k: koanf.New("."), origin: map[string]string{}}
	known := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notSettings, f.Name) {
			known[key(f.Name)] = true
		}
	})
	file, err := l.file(flags, environ, known)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := l.environment(environ, known); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := l.flags(flags); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c := l.build()
	c.File = file
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrConfig, errors.Join(l.errs...))
	}
	return c, nil
}

func key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// file loads the configuration file, if there is one, and returns its path.
func (l *loader) file(flags *pflag.FlagSet, environ []string, known map[string]bool) (string, error) {
	path, _ := flags.GetString("config") // every command that calls Load defines it
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
	if err := l.k.Load(rawbytes.Provider(text), toml.Parser()); err != nil {
		var bad *gotoml.DecodeError
		if errors.As(err, &bad) {
			row, column := bad.Position()
			return "", fmt.Errorf("%s:%d:%d: %w", path, row, column, err)
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	for _, k := range l.k.Keys() {
		top, _, _ := strings.Cut(k, ".")
		at := fmt.Sprintf("%s:%d", path, lineOf(text, top))
		if !known[k] {
			return "", fmt.Errorf("%s: unknown setting %q", at, k)
		}
		l.origin[k] = at
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

func (l *loader) environment(environ []string, known map[string]bool) error {
	var unknown string
	err := l.k.Load(env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			k := strings.ToLower(strings.TrimPrefix(name, envPrefix))
			if k == "config" {
				return "", nil
			}
			if !known[k] {
				unknown = name
			}
			l.origin[k] = name
			return k, value
		},
	}), nil)
	if err == nil && unknown != "" {
		err = fmt.Errorf("%s: unknown setting", unknown)
	}
	return err
}

func (l *loader) flags(flags *pflag.FlagSet) error {
	return l.k.Load(posflag.ProviderWithFlag(flags, ".", l.k, func(f *pflag.Flag) (string, any) {
		if slices.Contains(notSettings, f.Name) {
			return "", nil
		}
		if f.Changed {
			l.origin[key(f.Name)] = "--" + f.Name
		}
		return key(f.Name), posflag.FlagVal(flags, f)
	}), nil)
}
