package config

import (
	"maps"
	"slices"
	"strings"
)

// Adjustable has the settings, by their flags, that a running daemon can change.
var Adjustable = []string{"connections", "hello-timeout", "idle-timeout", "log-level", "spool-after", "stop-timeout"}

// Adjust returns c with the adjustable settings of found. changed are those that differ,
// and later the other settings that do: they need a restart.
func (c *Config) Adjust(found *Config) (next *Config, changed, later []string) {
	adjusted := *c
	adjusted.Settings, adjusted.written = slices.Clone(c.Settings), maps.Clone(c.written)
	for i, s := range found.Settings { // all settings, in the order of c
		differs := found.written[s.Name] != c.written[s.Name]
		switch {
		case slices.Contains(Adjustable, strings.ReplaceAll(s.Name, "_", "-")):
			adjusted.Settings[i], adjusted.written[s.Name] = s, found.written[s.Name]
			if differs {
				changed = append(changed, s.Name)
			}
		case differs:
			later = append(later, s.Name)
		}
	}
	adjusted.Connections, adjusted.LogLevel = found.Connections, found.LogLevel
	adjusted.HelloTimeout, adjusted.IdleTimeout = found.HelloTimeout, found.IdleTimeout
	adjusted.SpoolAfter, adjusted.StopTimeout = found.SpoolAfter, found.StopTimeout
	return &adjusted, changed, later
}
