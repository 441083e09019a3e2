//go:build race

package suite

// Race says that the race detector is at work, which makes everything slow.
const Race = true
