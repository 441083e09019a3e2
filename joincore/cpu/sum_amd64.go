package cpu

// sumBlock is the number of values that sumHalves adds up at a time.
const sumBlock = 16

// sumHalves sums up the halves of blocks of values, as halvesOf does. The processor must have the
// instructions that canMask stands for.
//
//go:noescape
func sumHalves(x *uint64, blocks int) (lower, upper int64)
