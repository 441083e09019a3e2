package multi_test

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/memfabric"
	"gpujoin/testsupport/separate"
	"gpujoin/testsupport/sim"
	"gpujoin/testsupport/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is an exchange of packets so small that short tables need several batches.
func small(policy exchange.Policy) *exchange.Config {
	return &exchange.Config{Packet: 512, Batch: 2, Slots: 2, Mid: 3, Window: 2, Posted: 2, Policy: policy}
}

// machine returns the mesh of some GPUs of a preset.
func machine(t *testing.T, preset string, gpus ...int) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh(preset)
	if err == nil {
		m, err = m.Restrict(gpus)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// group returns a provider over simulated GPUs, each of which has a provider.
func group(t *testing.T, m *mesh.Mesh, member func(i int) device.Provider, opt multi.Options) (*multi.Provider, *memfabric.Fabric) {
	t.Helper()
	var members []device.Provider
	for i := range m.GPUs() {
		members = append(members, member(i))
	}
	f := memfabric.New(m)
	p, err := multi.New(fmt.Sprintf("%s-x%d", members[0].Name(), len(members)), members, f, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

func cores(int) device.Provider { return cpu.New() }

// part is a part of the suite.
type part func(*testing.T, suite.Subject)

// everywhere are the parts that run over each number of members.
var everywhere = []part{suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.FloatSums, suite.JoinStats}

// TestSuite runs the cases of every provider over 2, 3, 4 and 8 members: each number runs
// other ones, and the longer parts run over some numbers only.
func TestSuite(t *testing.T) {
	for i, c := range []struct {
		mesh *mesh.Mesh
		opt  multi.Options
		more []part
	}{
		{
			machine(t, "hgx-h200", 0, 1), multi.Options{Exchange: small(exchange.Adaptive{})},
			[]part{suite.Skew, suite.Values, suite.AggregateTrees},
		},
		{
			machine(t, "dgx1", 0, 4, 7), multi.Options{Exchange: small(exchange.Adaptive{}), Partitions: 64},
			[]part{suite.Allocations, suite.Sink, suite.Cancel, suite.CorruptInput, suite.RowTooWide, suite.Tile},
		},
		{
			machine(t, "dgx1", 0, 3, 4, 7), multi.Options{Exchange: small(sim.Bandwidth{})},
			[]part{suite.AggregateValues, suite.MadeTexts, suite.Forced},
		},
		{
			machine(t, "dgx1", 0, 1, 2, 3, 4, 5, 6, 7), multi.Options{Exchange: small(exchange.Adaptive{})},
			[]part{suite.AggregateTrees},
		},
	} {
		t.Run(fmt.Sprint(c.mesh.GPUs()), func(t *testing.T) {
			p, f := group(t, c.mesh, cores, c.opt)
			s := suite.Subject{Provider: p, Algorithms: joincore.Algorithms[:], Thin: 40, Offset: uint64(i), Copies: true, Divides: true}
			for _, run := range slices.Concat(everywhere, c.more) {
				run(t, s)
			}
			if n := f.Buffers(); n != 0 {
				t.Errorf("%d buffers are left", n)
			}
			if copies, _ := f.Copied(); copies == 0 {
				t.Error("nothing was exchanged")
			}
		})
	}
}

// TestInputChangesWhileItIsRead stands alone because it has to be run without the race
// detector.
func TestInputChangesWhileItIsRead(t *testing.T) {
	p, _ := group(t, machine(t, "hgx-h200", 0, 1), cores, multi.Options{Exchange: small(exchange.Adaptive{})})
	suite.ChangingInput(t, suite.Subject{Provider: p, Algorithms: joincore.Algorithms[:], Thin: 4})
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
			p, _ := group(t, machine(t, "dgx1", 0, 1, 2), member, multi.Options{Exchange: small(exchange.Adaptive{})})
			s := suite.Subject{
				Provider: p, Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM}, Thin: 40, Copies: true, Divides: true,
			}
			for _, run := range []part{suite.Matrix, suite.Trees, suite.Sink} {
				run(t, s)
			}
		})
	}
}
