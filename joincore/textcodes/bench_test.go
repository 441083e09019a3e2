package textcodes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/suite"
)

// nothing executes no plan: what is left is the time of the cores before.
type nothing struct{ device.Provider }

func (nothing) Check(plan *joincore.Checked) error {
	if len(plan.Inputs[0].Columns) == 1 {
		return joincore.ErrUnsupported
	}
	return nil
}

func (nothing) Execute(context.Context, *joincore.Checked, []*joincore.Relation, joincore.Memory, joincore.Sink, exec.Options, *joincore.Stats) error {
	return nil
}

// BenchmarkColumns measures the columns that cores compute for a device, in ns of one core
// for a row: conditions over texts of 25 bytes and codes of them, few and many different ones,
// also in their order.
func BenchmarkColumns(b *testing.B) {
	const rows = 1 << 20
	ref := joincore.ColumnRef{}
	condition := func(e joincore.Expr) joincore.Node { return &joincore.Filter{Child: &joincore.Scan{}, Predicate: e} }
	group := func(k joincore.Value) joincore.Node {
		return &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{k}, Functions: []joincore.Function{{Kind: joincore.Count}}}
	}
	least := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{{Kind: joincore.Min, Arg: ref}}}
	for _, c := range []struct {
		name   string
		values int
		root   joincore.Node
	}{
		{"equal", 1000, condition(&joincore.Compare{Op: joincore.Equal, Left: ref, Right: &joincore.Text{Bytes: []byte("text")}})},
		{"in4", 1000, condition(&joincore.In{Arg: ref, Texts: [][]byte{[]byte("a"), []byte("bb"), []byte("ccc"), []byte("dddd")}})},
		{"like", 1000, condition(&joincore.Like{Arg: ref, Pattern: []byte("%text%9%"), Encoding: joincore.UTF8})},
		{"code/3", 3, group(ref)},
		{"code/1000", 1000, group(ref)},
		{"code/64K", 1 << 16, group(ref)},
		{"code/1M", rows, group(ref)},
		{"least/1000", 1000, least},
		{"least/64K", 1 << 16, least},
		{"least/1M", rows, least},
		{"substring/1000", 1000, group(&joincore.Substring{Arg: ref, From: 1, For: 2, Characters: joincore.UTF8})},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := texts(rows, c.values)
			plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: in.Columns}}, Root: c.root, Output: []joincore.ColumnRef{{Input: 1}}}
			if _, ok := c.root.(*joincore.Filter); ok {
				plan.Output = []joincore.ColumnRef{ref}
			}
			p := textcodes.New(nothing{cpu.New()})
			opt := exec.Options{Device: device.Options{Turns: &oneTurn{}}}
			mem := &suite.Reuse{Memory: &suite.Arena{}}
			defer mem.Close()
			for b.Loop() {
				if err := p.Execute(b.Context(), suite.Checked(b, plan), []*joincore.Relation{in}, mem, nil, opt, &joincore.Stats{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

// texts returns a relation with one column of texts of 25 bytes.
func texts(rows, values int) *joincore.Relation {
	var heap []byte
	offsets := make([]byte, 4*(rows+1))
	for i := range rows {
		text := fmt.Sprintf("text %020d", uint32(i)*2654435761%uint32(values))
		heap = binary.LittleEndian.AppendUint32(heap, uint32(len(text)+4)<<2)
		heap = append(heap, text...)
		for len(heap)%4 != 0 {
			heap = append(heap, 0)
		}
		binary.LittleEndian.PutUint32(offsets[4*(i+1):], uint32(len(heap)))
	}
	return &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Varlena, Align: 4}},
		Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{{Values: offsets, Heap: heap}}}},
	}
}
