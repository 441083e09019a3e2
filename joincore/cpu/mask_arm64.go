package cpu

// canMask is false: the equals in Go of the functions below are used.
var canMask = false

func outsideRange32(_ *uint32, _ *uint64, _ int, _ uint32, _ int32) { panic("not on this platform") }
func outsideRange64(_ *uint64, _ *uint64, _ int, _ uint64, _ int64) { panic("not on this platform") }
func lessColumns32(_, _ *uint32, _ *uint64, _ int)                  { panic("not on this platform") }
func lessColumns64(_, _ *uint64, _ *uint64, _ int)                  { panic("not on this platform") }
func equalColumns32(_, _ *uint32, _ *uint64, _ int)                 { panic("not on this platform") }
func equalColumns64(_, _ *uint64, _ *uint64, _ int)                 { panic("not on this platform") }

func expandWords(_ *uint32, _ *uint64, _ int, _ uint32, _ *[256]uint64) int {
	panic("not on this platform")
}
