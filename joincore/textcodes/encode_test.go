package textcodes_test

import (
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/program"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words executes only what devices do that run programs of package program.
type words struct{ device.Provider }

func (words) Check(plan *joincore.Checked) error { return program.CheckPlan(plan) }

// TestSuite compares with the oracle what such a device executes of plans with texts.
func TestSuite(t *testing.T) {
	s := suite.Subject{
		Provider:   textcodes.New(words{&bulk.Provider{Inner: cpu.New()}}),
		Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM}, Thin: 2,
	}
	suite.All(t, s)
}
