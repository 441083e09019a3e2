package sidecar

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// SelfTest joins two small relations on b, with memory from store, and verifies
// the number of result rows, which it returns.
func SelfTest(ctx context.Context, b executor.Executor, store *memory.Store) (int, error) {
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
	job := &executor.Job{Plan: plan, Memory: account, Sink: &countingSink{account: account}}
	for _, rows := range []int{left, right} {
		e, err := account.Extent(false)
		if err != nil {
			return 0, err
		}
		defer e.Release()
		values := e.Data[: 0 : 8*rows]
		for i := range rows {
			values = binary.LittleEndian.AppendUint64(values, uint64(i%keys))
		}
		job.Inputs = append(job.Inputs, &joincore.Relation{
			Columns:  []joincore.Column{column},
			Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{{Values: values}}}},
		})
	}
	var stats joincore.Stats
	if err = b.Run(ctx, job, &stats); err != nil {
		return 0, err
	}
	sink := job.Sink.(*countingSink)
	got, want := sink.rows.Load(), int64(left*right/keys)
	if got != want {
		return 0, fmt.Errorf("a test join returned %d rows instead of %d", got, want)
	}
	return int(got), nil
}

// countingSink counts rows and discards them.
type countingSink struct {
	account *memory.Account
	rows    atomic.Int64
}

func (s *countingSink) NewBatch(context.Context, []float64) (*joincore.Batch, error) {
	const rows = 1024
	e, err := s.account.Extent(true)
	if err != nil {
		return nil, err
	}
	validity := e.Data[8*rows : 8*rows+rows/8]
	for i := range validity {
		validity[i] = 0xff
	}
	return &joincore.Batch{
		Rows: rows, Columns: []joincore.Vector{{Values: e.Data[:8*rows], Validity: validity}}, Handle: e,
	}, nil
}

func (s *countingSink) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	s.rows.Add(int64(rows))
	s.Discard(b)
	return nil
}

func (s *countingSink) Discard(b *joincore.Batch) { b.Handle.(*memory.Extent).Release() }
