// Package suite is the suite that every provider has to pass: plans of all
// kinds over generated data, executed by joincore/run and compared with the
// nested-loop oracle; budgets, skew, cancellation, failing sinks and corrupt
// input. A provider's own tests call All.
package suite

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Subject is what the suite is run against.
type Subject struct {
	Provider device.Provider
	// Algorithms are those that the provider can be made to use.
	Algorithms []joincore.Algorithm
	// Thin leaves out all but one in Thin of the many cases of the matrix,
	// where a provider is slow or is covered by another one.
	Thin uint64
	// Offset says which ones those are: other numbers, other cases.
	Offset uint64
	// OwnMemory says that the provider's column-sized memory is not that
	// which Run is given, so that a budget of it bounds nothing.
	OwnMemory bool
	// Copies says that Import copies inputs into that memory.
	Copies bool
	// Pends says that work waits for that memory behind the caller's back.
	Pends bool
	// Peers are the providers of further devices, which work at the same time.
	Peers []device.Provider
}

var kinds = []joincore.Kind{joincore.Inner, joincore.Left, joincore.Right, joincore.Full, joincore.Semi, joincore.Anti}

// All runs the whole suite.
func All(t *testing.T, s Subject) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"Matrix", Matrix},
		{"Sizes", Sizes},
		{"Tile", Tile},
		{"Trees", Trees},
		{"JoinStats", JoinStats},
		{"Skew", Skew},
		{"Async", Async},
		{"Allocations", Allocations},
		{"Sink", Sink},
		{"Cancel", Cancel},
		{"CorruptInput", CorruptInput},
		{"ChangingInput", ChangingInput},
		{"RowTooWide", RowTooWide},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s) })
	}
}

// leftOut says that a case is not run: short tests run one in n, thinned ones
// one in Thin, and the race detector makes each of them slow.
func (s Subject) leftOut(seed, n uint64) bool {
	keep := max(s.Thin, 1)
	if testing.Short() || Race {
		keep *= n
	}
	if Race {
		keep *= 4
	}
	return (seed+s.Offset)%keep != 0
}
