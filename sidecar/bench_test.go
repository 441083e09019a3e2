package sidecar

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/testsupport/backend"
)

func benchServer(b *testing.B) string {
	o := Options{
		Config: config.Config{
			Socket: filepath.Join(b.TempDir(), "s"), ExtentSize: 4 << 20, MemoryBudget: 1 << 30, MemoryWarm: 64 << 20, Window: 16,
			Connections: 64, HelloTimeout: 1e10, StopTimeout: 1e10, IdleTrim: 1e12, Cores: 2, Processors: 2,
		},
		Rates: NewRates(costmodel.TypicalRates, RatesDefault), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	srv, err := Start(o, NewLocal(cpu.New(), 0, nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := srv.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	})
	return o.Socket
}

// BenchmarkRoundTrip is a request and its answer without descriptors.
func BenchmarkRoundTrip(b *testing.B) {
	c, err := backend.Dial(benchServer(b), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Open(shm.Open{}, joinJob(1000, 1000, 1000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Stats(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExtent grants an extent, which the client verifies, maps, gives a
// batch of one row and hands over.
func BenchmarkExtent(b *testing.B) {
	path := benchServer(b)
	rows := tableRows(1, 1, "l")
	const extents = 16
	for b.Loop() {
		b.StopTimer()
		c, err := backend.Dial(path, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Open(shm.Open{}, joinJob(1000, 1000, 1000)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for range extents {
			if err := c.Feed(0, tableShapes, rows, 0); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		c.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(extents*b.N), "ns/extent")
}
