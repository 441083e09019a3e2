package multi_test

import (
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/separate"
	"gpujoin/testsupport/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func cores(int) device.Provider { return cpu.New() }

// part is a part of the suite.
type part func(*testing.T, suite.Subject)

// everywhere are the parts that run over each number of members.
var everywhere = []part{suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.FloatSums, suite.JoinStats}

// TestInputChangesWhileItIsRead stands alone because it has to be run without the race
// detector.
func TestInputChangesWhileItIsRead(t *testing.T) {
	suite.ChangingInput(t, suite.Subject{Provider: replicated(2, cores), Algorithms: joincore.Algorithms[:], Thin: 4})
}

// TestOtherMembers runs a few cases over members that execute whole steps, and over
// members whose memory is separate.
func TestOtherMembers(t *testing.T) {
	separated := separate.New(cpu.New(), 3)
	for name, member := range map[string]func(i int) device.Provider{
		"bulk":     func(int) device.Provider { return &bulk.Provider{Inner: cpu.New()} },
		"separate": func(i int) device.Provider { return separated[i] },
	} {
		t.Run(name, func(t *testing.T) {
			s := suite.Subject{
				Provider: replicated(3, member), Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM},
				Thin: 40, Copies: true, Divides: true,
			}
			for _, run := range []part{suite.Matrix, suite.Trees, suite.Sink} {
				run(t, s)
			}
		})
	}
}
