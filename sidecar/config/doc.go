// Package config reads the daemon's configuration. Flags take precedence over
// the environment (GPUJOIND_*), the environment over a TOML file, and the file
// over the defaults. Each setting has one name: with dashes as a flag, with
// underscores in the file, and with underscores in capitals in the environment.
// An unknown setting or an invalid value is an error that names its source.
//
// It also determines how much of the machine's memory the process may use (all of it,
// or the limit of its control group) and how many mappings. It does not deal with
// processor limits, which Go's runtime observes (runtime.GOMAXPROCS).
package config
