package cpu

import "golang.org/x/sys/cpu"

// canMask reports whether this processor has the instructions of the functions below. Each
// handles whole words of 64 rows; mask.go has their equals in Go, and says what they do.
var canMask = cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT

//go:noescape
func outsideRange32(x *uint32, out *uint64, words int, base uint32, top int32)

//go:noescape
func outsideRange64(x *uint64, out *uint64, words int, base uint64, top int64)

//go:noescape
func lessColumns32(a, b *uint32, out *uint64, words int)

//go:noescape
func lessColumns64(a, b *uint64, out *uint64, words int)

//go:noescape
func equalColumns32(a, b *uint32, out *uint64, words int)

//go:noescape
func equalColumns64(a, b *uint64, out *uint64, words int)

// expandWords writes up to 8 numbers behind the last one.
//
//go:noescape
func expandWords(out *uint32, mask *uint64, words int, first uint32, table *[256]uint64) (n int)
