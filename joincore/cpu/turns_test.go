package cpu

import (
	"context"
	"testing"

	"gpujoin/joincore/device"
)

// yields counts how often a turn is offered to others.
type yields struct{ n, inside int }

func (y *yields) Enter(context.Context) { y.inside++ }
func (y *yields) Leave()                { y.inside-- }
func (y *yields) Yield(context.Context) { y.n++ }

// TestEveryChunkOffersItsTurn: a step of one task on many rows, and a row with
// many partners that a condition refuses, let others work after each chunk.
func TestEveryChunkOffersItsTurn(t *testing.T) {
	const chunk, rows = 64, 6400
	turns := &yields{}
	opened, err := New().Open(heapMemory{}, device.Options{Streams: 1, ChunkRows: chunk, Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	d := opened.(*dev)
	list := make([]keyedRow, rows)
	for i := range list {
		list[i] = keyedRow{key: 7 + int64(i%2)<<40, row: int32(i)}
	}
	build := importRows(t, d, 0, list, rows)
	probe := importRows(t, d, 1, []keyedRow{{key: 7}}, 1)
	m := &device.Match{Build: keyOf(0), Probe: keyOf(1), Emit: device.Pairs}
	var table device.Table
	for _, step := range []struct {
		name   string
		chunks int
		run    func() error
	}{
		{"build", rows / chunk, func() (err error) { table, err = d.Build(t.Context(), build, m); return err }},
		{"partition", 2 * rows / chunk, func() error {
			_, err := d.Partition(t.Context(), build, device.TransformSpec{Key: m.Build, Bits: 1})
			return err
		}},
		{"sort", 2 * rows / chunk, func() error {
			_, err := d.Sort(t.Context(), build, device.TransformSpec{Key: m.Build, RowIDs: []int{0}})
			return err
		}},
		{"probe", rows / 2 / chunk, func() error {
			turns.inside++ // as the worker of a pipeline
			defer func() { turns.inside-- }()
			st := d.newStream()
			defer st.Close()
			p := st.NewProber(m).(*prober)
			p.check, p.first = &refusing{stop: func() {}}, false
			if err := p.Start(t.Context(), st.Scan(probe, 0, 0, 1), table); err != nil {
				return err
			}
			_, _, err := p.Next(t.Context())
			return err
		}},
	} {
		turns.n = 0
		if err := step.run(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if turns.n < step.chunks {
			t.Errorf("%s: %d chunks, the turn was offered %d times", step.name, step.chunks, turns.n)
		}
		if turns.inside != 0 {
			t.Errorf("%s: %d turns are left", step.name, turns.inside)
		}
	}
}
