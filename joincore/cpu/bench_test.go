package cpu_test

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/suite"
)

// BenchmarkSort sorts 10 M int8 keys of which each occurs once, with an int8
// column carried. cpu-ns/row is what all cores used together: on a busy
// machine it says more than the clock.
func BenchmarkSort(b *testing.B) {
	const n = 10_000_000
	for name, scale := range map[string]uint64{"dense": 1, "sparse": 0x9e3779b97f4a7c15} {
		b.Run(name, func(b *testing.B) {
			order := rand.New(rand.NewPCG(1, 2)).Perm(n)
			relation := suite.Int64Relation(n, 2, func(row, _ int) uint64 { return uint64(order[row]) * scale })
			opened, err := cpu.New().Open(&suite.Arena{}, device.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer opened.Close()
			d := opened.(device.Chunked)
			in, err := d.Import(0, relation)
			if err != nil {
				b.Fatal(err)
			}
			key, _ := device.Keys([]joincore.KeyPair{{Class: joincore.KeyInt}},
				func(joincore.ColumnRef) joincore.Column { return relation.Columns[0] })
			before := cpuTime()
			b.ResetTimer()
			for range b.N {
				sorted, err := d.Sort(b.Context(), in, device.TransformSpec{Key: key, Carry: []joincore.ColumnRef{{Column: 1}}})
				if err != nil {
					b.Fatal(err)
				}
				sorted.Release()
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/n, "cpu-ns/row")
		})
	}
}

// cpuTime returns the ns that this process has used of all cores.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
