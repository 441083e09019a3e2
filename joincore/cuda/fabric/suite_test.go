//go:build cuda

package fabric_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// The cases of every provider pass over several GPUs, in all layouts of the machine: each
// layout runs other ones.
func TestSuite(t *testing.T) {
	for i, l := range layouts(t) {
		t.Run(l.String(), func(t *testing.T) {
			f := l.open(t, 128<<20)
			var members []device.Provider
			for _, ordinal := range l.devices {
				p, err := cuda.New(cuda.Config{Ordinal: ordinal, Budget: 512 << 20, Streams: 2})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				})
				members = append(members, p)
			}
			c := exchange.Default()
			c.Packet, c.Policy = 512, l.policy // several batches of short tables
			p, err := multi.New("cuda", members, f, multi.Options{Exchange: &c})
			if err != nil {
				t.Fatal(err)
			}
			s := suite.Subject{
				Provider: p, OwnMemory: true, Thin: 60, Offset: uint64(i),
				Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.PHJOM, joincore.SMJUM, joincore.SMJOM},
			}
			for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Skew, suite.Sink} {
				part(t, s)
			}
		})
	}
}
