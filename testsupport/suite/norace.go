//go:build !race

package suite

// Race reports whether the race detector is enabled, which makes everything slow.
const Race = false
