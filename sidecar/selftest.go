package sidecar

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/sidecar/memory"
)

// SelfTest joins two small relations and checks the number of rows that come
// out. It returns that number.
func SelfTest(ctx context.Context, engine Engine, store *memory.Store) (int, error) {
	const left, right, keys = 4096, 512, 128
	account, err := memory.NewBudget(1<<28).Reserve(ctx, store, 1<<26, memory.Claim{}, 0)
	if err != nil {
		return 0, err
	}
	defer account.Close()
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{
			{Columns: []joincore.Column{column}, Rows: left},
			{Columns: []joincore.Column{column}, Rows: right},
		},
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{
				Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt,
			}},
		},
		Output: []joincore.ColumnRef{{Input: 0}},
	}
	relation := func(rows int) *joincore.Relation {
		values := make([]byte, 0, 8*rows)
		for i := range rows {
			values = binary.LittleEndian.AppendUint64(values, uint64(i%keys))
		}
		return &joincore.Relation{
			Columns:  []joincore.Column{column},
			Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{{Values: values}}}},
		}
	}
	sink := &countingSink{}
	var stats joincore.Stats
	err = engine.Run(ctx, plan, []*joincore.Relation{relation(left), relation(right)}, account, sink, &stats)
	if err != nil {
		return 0, err
	}
	got, want := sink.rows.Load(), int64(left*right/keys)
	if got != want {
		return 0, fmt.Errorf("a join gave %d rows, not %d", got, want)
	}
	return int(got), nil
}

// countingSink throws rows away.
type countingSink struct{ rows atomic.Int64 }

func (s *countingSink) NewBatch(context.Context, []float64) (*joincore.Batch, error) {
	const rows = 1024
	validity := make([]byte, rows/8)
	for i := range validity {
		validity[i] = 0xff
	}
	return &joincore.Batch{Rows: rows, Columns: []joincore.Vector{{Values: make([]byte, 8*rows), Validity: validity}}}, nil
}

func (s *countingSink) Emit(_ context.Context, _ *joincore.Batch, rows int, _ []int) error {
	s.rows.Add(int64(rows))
	return nil
}

func (s *countingSink) Discard(*joincore.Batch) {}
