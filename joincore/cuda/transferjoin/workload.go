package transferjoin

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime"
	"sync"

	"gpujoin/joincore"
)

// Workload is the numbers of rows of a join. Those of the build side are a power of two.
type Workload struct {
	Build int64 `json:"build_rows"`
	Probe int64 `json:"probe_rows"`
}

// Sized returns a workload of that many probe rows or somewhat fewer, with as many for each build row
// as workload A has: 2^31 for 2^27.
func Sized(probe int64) (Workload, error) {
	if probe < 16 || probe > 1<<31 {
		return Workload{}, fmt.Errorf("%d rows of the probe side: they must be 16 to 2147483648", probe)
	}
	build := int64(1) << (bits.Len64(uint64(probe)) - 5)
	return Workload{Build: build, Probe: 16 * build}, nil
}

// tuple is the bytes of a row.
const tuple = 16

// Bytes returns the bytes of both inputs.
func (w Workload) Bytes() int64 { return tuple * (w.Build + w.Probe) }

// segmentRows is the rows of a segment: a column has 2 MiB, half of an extent.
const segmentRows = 1 << 18

// sums are the result of a join: its rows, and the sums of the payloads of both sides.
type sums struct{ rows, build, probe int64 }

// mix spreads numbers; a multiple of it by an odd number below a power of two meets all of them.
const mix = 0x9e3779b97f4a7c15

// inverse returns the number by which a product with mix becomes the other factor again.
func inverse() uint64 {
	x := uint64(mix)
	for range 6 { // each step doubles the bits that are right, from 3
		x *= 2 - mix*x
	}
	return x
}

// inputs writes both inputs to memory of Bytes bytes, and returns them with the result of their join.
// The key of build row i is i*mix; that of a probe row is one of those.
func (w Workload) inputs(memory []byte) (relations []*joincore.Relation, want sums) {
	mask, back := uint64(w.Build-1), inverse()
	var mu sync.Mutex
	var wait sync.WaitGroup
	cores := make(chan struct{}, runtime.NumCPU())
	for side, rows := range []int64{w.Build, w.Probe} {
		r := &joincore.Relation{Columns: columns()}
		for first := int64(0); first < rows; first += segmentRows {
			n := min(segmentRows, rows-first)
			keys, payload := memory[:8*n:8*n], memory[8*n:16*n:16*n]
			memory = memory[16*n:]
			r.Segments = append(r.Segments, joincore.Segment{Rows: int(n), Columns: []joincore.Vector{{Values: keys}, {Values: payload}}})
			cores <- struct{}{}
			wait.Go(func() {
				defer func() { <-cores }()
				part := sums{}
				for i := range n {
					row := uint64(first + i)
					key := row * mix & mask
					if side == 1 {
						key = (row*mix ^ row*mix>>31) & mask
						part = sums{part.rows + 1, part.build + int64(key*back&mask), part.probe + int64(row)}
					}
					binary.LittleEndian.PutUint64(keys[8*i:], key)
					binary.LittleEndian.PutUint64(payload[8*i:], row)
				}
				mu.Lock()
				defer mu.Unlock()
				want = sums{want.rows + part.rows, want.build + part.build, want.probe + part.probe}
			})
		}
		relations = append(relations, r)
	}
	wait.Wait()
	return relations, want
}

func columns() []joincore.Column {
	return []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 8, Align: 8}}
}

// plan returns the join without partitions, whose rows are counted and whose payloads are added up.
func (w Workload) plan() (*joincore.Checked, error) {
	join := &joincore.Join{
		Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}, Rows: float64(w.Probe),
		Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
	}
	return joincore.Check(&joincore.Plan{
		Inputs: []joincore.Input{{Columns: columns()}, {Columns: columns()}}, Algorithm: joincore.NPJ,
		Root: &joincore.Aggregate{Child: join, ID: 2, Rows: 1, Functions: []joincore.Function{
			{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Column: 1}}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}},
		}},
		Output: []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}, {Input: 2, Column: 2}},
	})
}
