//go:build cuda

package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// A build side of which one device holds the columns, and not the table: the rest of the table is on the host. Its memory is charged to the
// job, bounded by the limit of slabs, and given back when the join has ended, failed or was cancelled: the limit is that of one
// table. Without it, and if the job may not have as much, one device joins otherwise.
func TestAHybridTable(t *testing.T) {
	const rows, most = 4_000_000, 64 << 20
	p, err := New(Config{Budget: 128 << 20, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lock := lockSlab(p.platform)
	p.outOfCore.Slabs = outofcore.NewPool(func(mem []byte) (func(), error) { return lock(p.context, mem) }, most)
	p.outOfCore.WindowRows = 1 << 14
	team := multi.Together("cuda", []device.Provider{p}, costmodel.Hybrid)
	many := finer(suite.Keyed(rows, func(row int) uint64 { return uint64(row) * 0x9e3779b97f4a7c15 }), 1<<14)
	run := func(ctx context.Context, mem *suite.Arena) (stats joincore.Stats, err error) {
		sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)
		err = suite.Run(ctx, team, suite.PairPlan(many, many), []*joincore.Relation{many, many}, mem, sink, exec.Options{}, &stats)
		if mem.InUse() != 0 {
			t.Errorf("%d bytes of the job are in use", mem.InUse())
		}
		return stats, err
	}
	for i := range 3 {
		if stats, err := run(t.Context(), &suite.Arena{}); err != nil || stats.RowsOut != rows || stats.Strategy != "hybrid" || stats.Alone != "" || stats.Joins[0].Algorithm != columnar.HybridName {
			t.Errorf("run %d: %v, %+v", i, err, stats)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := run(cancelled, &suite.Arena{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if stats, err := run(t.Context(), &suite.Arena{Limit: 1 << 20}); err == nil && (stats.RowsOut != rows || stats.Alone == "") {
			t.Errorf("a job without memory: %+v", stats)
		}
	}
	p.outOfCore.Slabs.Limit = 1 << 20
	// One device alone has too little memory as well, where it partitions without slabs.
	if stats, err := run(t.Context(), &suite.Arena{}); err != nil && !errors.Is(err, joincore.ErrBudget) || !strings.Contains(stats.Alone, "the host may lock 1") {
		t.Errorf("%v, %+v", err, stats)
	}
}

// finer returns the rows of a relation in segments of as many: windows have whole segments, and the table leaves them
// little memory.
func finer(r *joincore.Relation, rows int) *joincore.Relation {
	out := &joincore.Relation{Columns: r.Columns}
	for _, s := range r.Segments {
		for low := 0; low < s.Rows; low += rows {
			piece := joincore.Segment{Rows: min(rows, s.Rows-low)}
			for i, c := range s.Columns {
				width := r.Columns[i].Width
				piece.Columns = append(piece.Columns, joincore.Vector{Values: c.Values[low*width:][:piece.Rows*width]})
			}
			out.Segments = append(out.Segments, piece)
		}
	}
	return out
}
