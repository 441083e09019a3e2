// Package suite has the tests that every provider must pass: plans of all kinds over
// generated data, executed by joincore/exec and compared with the nested-loop oracle;
// budgets, skew, cancellation, failing sinks and corrupt input. A provider's own tests
// call All.
package suite

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Subject is the provider under test.
type Subject struct {
	Provider device.Provider
	// Algorithms are those that the provider can be forced to use.
	Algorithms []joincore.Algorithm
	// Thin, if not 0, runs one in Thin cases of the matrix, for slow providers
	// and those covered by another one.
	Thin uint64
	// Offset selects which of them.
	Offset uint64
	// OwnMemory says that the provider does not take column-sized memory from Run's
	// Memory, so that a budget does not limit it.
	OwnMemory bool
	// Copies says that Import copies inputs into that Memory.
	Copies bool
	// Divides says that inputs are divided among several devices, each of which rounds
	// the size of its hash table up.
	Divides bool
	// Pends says that asynchronous work may block on allocations from that Memory.
	Pends bool
	// Peers are the providers of further devices that work at the same time.
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
		{"Scans", Scans},
		{"Values", Values},
		{"Aggregates", Aggregates},
		{"AggregateTrees", AggregateTrees},
		{"AggregateValues", AggregateValues},
		{"MadeTexts", MadeTexts},
		{"FloatSums", FloatSums},
		{"JoinStats", JoinStats},
		{"Forced", Forced},
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

// leftOut reports whether a case is skipped: short tests run one in n, others one in
// Thin, and fewer with the race detector.
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
