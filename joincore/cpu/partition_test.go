package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// TestPartition looks at every row of partitions: it is in the partition of its key's
// hash, after the rows before it in the input, with its own payload. The largest inputs
// are written past the caches, the others are not.
func TestPartition(t *testing.T) {
	carry := []joincore.ColumnRef{{Column: 0}, {Column: 1}, {Column: 2}}
	for name, key := range keyDistributions {
		for _, n := range []int{0, 1, 63, 5000, 1 << 15, streamFrom/8 + 777} {
			for _, keep := range []bool{false, true} {
				r := rand.New(rand.NewPCG(uint64(n), 1))
				list := make([]keyedRow, n)
				for i := range list {
					list[i] = keyedRow{key: key(r, i), null: i%11 == 5, row: int32(i)}
				}
				for _, streams := range []int{1, 3} {
					d := openDev(t, streams, 1000)
					s := importRows(t, d, 0, list, 20_000)
					spec := device.TransformSpec{Key: keyOf(0), Bits: 1 + n%7, Carry: carry, RowIDs: []int{0}, KeepNulls: keep}
					p, err := d.Partition(t.Context(), s, spec)
					if err != nil {
						t.Fatal(err)
					}
					if err := checkPartitions(d, asSpace(p), spec, list); err != nil {
						t.Errorf("%s, %d rows, NULLs kept: %v, %d streams: %v", name, n, keep, streams, err)
					}
					p.Release()
				}
			}
		}
	}
}

func checkPartitions(d *dev, p *space, spec device.TransformSpec, list []keyedRow) error {
	want := 0
	for _, x := range list {
		if !x.null || spec.KeepNulls {
			want++
		}
	}
	last := len(p.bounds) - 2
	if p.bounds[0] != 0 || p.bounds[last+1] != int64(want) || last != 1<<spec.Bits {
		return fmt.Errorf("%d rows in %d partitions, want %d in %d", p.bounds[last+1], last, want, 1<<spec.Bits)
	}
	key, number, wide := p.carried[spec.Carry[0]], p.carried[spec.Carry[1]], p.carried[spec.Carry[2]]
	mask := d.inputs[0].mask()
	for part := range last + 1 {
		before := int32(-1)
		for at := p.bounds[part]; at < p.bounds[part+1]; at++ {
			row := int32(number.v32[0][at])
			if row <= before {
				return fmt.Errorf("partition %d has row %d after row %d", part, row, before)
			}
			before = row
			x := list[row]
			belongs := last
			if !x.null {
				belongs = int(mix(uint64(x.key)^d.seed) >> (64 - spec.Bits))
			}
			id := p.ids[0].v32[0][at]
			switch {
			case part != belongs:
				return fmt.Errorf("row %d is in partition %d, not %d", row, part, belongs)
			case !x.null && int64(p.keys.v64[0][at]) != x.key, !x.null && int64(key.v64[0][at]) != x.key:
				return fmt.Errorf("row %d has key %d, not %d", row, p.keys.v64[0][at], x.key)
			case key.valid(0, uint32(at)) == x.null:
				return fmt.Errorf("row %d: NULL is %v", row, !x.null)
			case int(id>>d.inputs[0].shift)*20_000+int(id&mask) != int(row):
				return fmt.Errorf("row %d has row id %#x", row, id)
			case wide.v64[0][2*at] != uint64(row) || wide.v64[0][2*at+1] != uint64(row):
				return fmt.Errorf("row %d has %d, %d", row, wide.v64[0][2*at], wide.v64[0][2*at+1])
			}
		}
	}
	return nil
}
