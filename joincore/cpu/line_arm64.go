package cpu

// canStream reports whether streamLine bypasses the caches.
const canStream = false

func streamLine(_, _ *byte) { panic("not on this platform") }

func streamFence() {}
