//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/suite"
)

// equalPairs counts the rows of a result whose two columns have different values.
type equalPairs struct {
	*suite.Discarder
	different atomic.Int64
}

func (p *equalPairs) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	for i := range rows {
		if binary.LittleEndian.Uint64(b.Columns[0].Values[8*i:]) != binary.LittleEndian.Uint64(b.Columns[1].Values[8*i:]) {
			p.different.Add(1)
		}
	}
	return p.Discarder.Emit(ctx, b, rows, heap)
}

// Rows that devices exchange are compressed if the mesh says that links are slow, and only then: what
// crosses the links has fewer bytes, and the result is the same.
func TestSlowLinksGetCompressedRows(t *testing.T) {
	slow, err := mesh.New("slow", []mesh.Node{{Kind: mesh.GPU, Name: "a"}, {Kind: mesh.GPU, Name: "b"}}, []mesh.Link{
		{From: 0, To: 1, Kind: mesh.PCIe, Width: 16, GBps: 2, Half: 64 << 10}, {From: 1, To: 0, Kind: mesh.PCIe, Width: 16, GBps: 2, Half: 64 << 10},
	}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := machines.Mesh("hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	const rows = 4 << 20
	input := suite.Keyed(rows, func(row int) uint64 { return uint64(row) })
	for _, second := range []int{0, len(all) - 1}[:min(len(all), 2)] {
		sent := map[*mesh.Mesh]int64{}
		for _, m := range []*mesh.Mesh{fast, slow} {
			p := teamOver(t, m, costmodel.Exchange, 2<<30, 0, 0, second)
			sink := &equalPairs{Discarder: suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)}
			var stats joincore.Stats
			if err := suite.Run(t.Context(), p, suite.PairPlan(input, input), []*joincore.Relation{input, input}, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
				t.Fatal(err)
			}
			if stats.Alone != "" || stats.RowsOut != rows || sink.different.Load() != 0 {
				t.Errorf("%s, devices 0 and %d: %d rows, %d of them wrong, %q", m.Name, second, stats.RowsOut, sink.different.Load(), stats.Alone)
			}
			sent[m] = stats.Sent
		}
		t.Logf("devices 0 and %d: %d bytes over fast links, %d over slow ones", second, sent[fast], sent[slow])
		if sent[fast] < rows*12 || sent[slow] > sent[fast]*3/4 {
			t.Errorf("devices 0 and %d: %d bytes over fast links, %d over slow ones", second, sent[fast], sent[slow])
		}
	}
}
