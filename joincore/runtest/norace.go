//go:build !race

package runtest

// Race says that the race detector is at work, which makes everything slow.
const Race = false
