package cpu

// canStream reports whether streamLine bypasses the caches.
const canStream = true

// streamLine copies a cache line past the caches, without reading the line at dst from
// memory first. Both are aligned to 16 bytes. Others may read it after streamFence.
//
//go:noescape
func streamLine(dst, src *byte)

// streamFence completes the lines that this goroutine's thread has written.
func streamFence()
