package exec_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/separate"
	"gpujoin/testsupport/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var algorithms = joincore.Algorithms[:]

// subjects are the providers that need no other hardware. They run a part of the
// cases, as the time of an ordinary test run allows.
var subjects = []suite.Subject{
	{Provider: cpu.New(), Algorithms: algorithms, Thin: 2},
	{Provider: simulated[0], Peers: []device.Provider{simulated[1], simulated[2]}, Algorithms: algorithms, Thin: 4, Copies: true, Pends: true},
	{
		Provider: &bulk.Provider{Inner: simulated[0]}, Peers: []device.Provider{&bulk.Provider{Inner: simulated[1]}},
		Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM}, Thin: 6, Copies: true, Pends: true,
	},
}

// simulated are devices with memory of their own.
var simulated = separate.New(cpu.New(), 3)

// TestAsync has what works behind the caller's back on top of the cores
// themselves, too.
func TestAsync(t *testing.T) {
	suite.Async(t, suite.Subject{Provider: &bulk.Provider{Inner: cpu.New()}, Peers: []device.Provider{&bulk.Provider{Inner: cpu.New()}}})
}

// TestSuite runs the same cases on every provider.
func TestSuite(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.Provider.Name(), func(t *testing.T) { suite.All(t, s) })
	}
}

// TestInputChangesWhileItIsRead stands alone, too, because it has to be run
// without the race detector.
func TestInputChangesWhileItIsRead(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.Provider.Name(), func(t *testing.T) { suite.ChangingInput(t, s) })
	}
}

// FuzzTrees looks for a plan whose execution differs from the oracle.
func FuzzTrees(f *testing.F) {
	f.Add(uint64(1), uint8(2), uint8(0), uint8(32))
	f.Add(uint64(2), uint8(4), uint8(5), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, inputs, decisions, chunk uint8) {
		plan, relations := suite.RandomTree(seed, 2+int(inputs%4))
		s := subjects[seed%uint64(len(subjects))]
		opt := exec.Options{
			Decide: func(join int, _ costmodel.Decision) costmodel.Decision {
				d := int(decisions) + join
				return costmodel.Decision{Algorithm: s.Algorithms[d%len(s.Algorithms)], BuildLeft: d/len(s.Algorithms)%2 == 0, Bits: 1 + d%4}
			},
			Device: device.Options{Streams: 2, ChunkRows: 1 + int(chunk), EmitRows: 1 + int(decisions), Seed: seed, Collide: seed%2 == 0},
		}
		suite.Check(t, fmt.Sprintf("%s, seed %d", s.Provider.Name(), seed), s.Provider, plan, relations, 7, opt)
	})
}
