package live_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

// instant is a fabric whose copies take no time: what is left is the engine's own time.
type instant struct {
	mesh *mesh.Mesh

	mu     sync.Mutex
	copies []func(error) // under way; guarded by mu

	polling sync.Mutex
	ended   []func(error) // guarded by polling
}

func (f *instant) Mesh() *mesh.Mesh                      { return f.mesh }
func (f *instant) Alloc(int, int64) (live.Buffer, error) { return f, nil }
func (f *instant) Free(live.Buffer)                      {}
func (f *instant) Device(int) int                        { return 0 }

func (f *instant) Copy(_ *mesh.Hop, _ []live.Piece, done func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copies = append(f.copies, done)
}

func (f *instant) Poll(int) bool {
	if !f.polling.TryLock() {
		return true
	}
	defer f.polling.Unlock()
	f.mu.Lock()
	f.ended, f.copies = f.copies, f.ended[:0]
	f.mu.Unlock()
	for _, done := range f.ended {
		done(nil)
	}
	return false
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkExchange reports the processor time that the engine needs for a copy, with all
// that belongs to it.
func BenchmarkExchange(b *testing.B) {
	for _, x := range []struct {
		preset string
		gpus   int
		mb     int64 // a pair
		packet int64
	}{
		{"hgx-h200", 2, 2, 0}, {"hgx-h200", 2, 1024, 0}, {"hgx-h200", 2, 1024, 2 << 20},
		{"hgx-h200", 8, 1024, 2 << 20}, {"dgx1", 8, 192, 2 << 20},
	} {
		b.Run(fmt.Sprintf("%s/%d/%dMB/%d", x.preset, x.gpus, x.mb, x.packet), func(b *testing.B) {
			m, err := machines.Mesh(x.preset)
			if err != nil {
				b.Fatal(err)
			}
			var set []int
			for g := range x.gpus {
				set = append(set, g)
			}
			if m, err = m.Restrict(set); err != nil {
				b.Fatal(err)
			}
			var runs []live.Run
			for from := range set {
				for to := range set {
					if from != to {
						runs = append(runs, live.Run{
							From: from, To: to, Bytes: x.mb << 20, Source: live.Place{Buffer: new(int)}, Target: live.Place{Buffer: new(int)},
						})
					}
				}
			}
			c := exchange.Default()
			c.Packet = x.packet
			f := &instant{mesh: m}
			var copies int64
			b.ReportAllocs()
			start := processor()
			for b.Loop() {
				stats, err := live.Exchange(b.Context(), f, c, runs)
				if err != nil {
					b.Fatal(err)
				}
				copies += stats.Copies
			}
			b.ReportMetric(float64(processor()-start)/float64(copies), "cpu-ns/copy")
			b.ReportMetric(float64(copies)/float64(b.N), "copies/op")
		})
	}
}
