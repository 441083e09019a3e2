// Package config reads the daemon's configuration: flags, then the
// environment (GPUJOIND_*), then a TOML file, then defaults. Every setting has
// one name, written with dashes as a flag, with underscores in the file, and
// in capitals in the environment. Whatever is unknown or wrong is an error
// that says where it stands.
package config
