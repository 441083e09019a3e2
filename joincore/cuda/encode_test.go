//go:build cuda

package cuda

import (
	"testing"

	"gpujoin/joincore/textcodes"
	trials "gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/suite"
)

// TestSuiteOfTexts has cores replace the texts that the device does not read.
func TestSuiteOfTexts(t *testing.T) {
	s := suite.Subject{
		Provider:   textcodes.New(&poisoned{Provider: provider(t, 512<<20)}),
		Algorithms: algorithms, Thin: *thin, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true,
	}
	for _, part := range []func(*testing.T, suite.Subject){suite.Trees, suite.Values, suite.Aggregates, suite.AggregateTrees, suite.AggregateValues, suite.MadeTexts} {
		part(t, s)
	}
}
