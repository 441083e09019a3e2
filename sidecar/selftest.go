package sidecar

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// selfTestJob joins two relations of one column of 8 bytes each.
const selfTestJob = `{"version":3,"static":{"inputs":[
  {"feed":"page","rows":4096,"columns":[{"attnum":1,"typmod":-1,"role":"value","encoding":"fixed","width":8,"align":8}]},
  {"feed":"page","rows":512,"columns":[{"attnum":1,"typmod":-1,"role":"value","encoding":"fixed","width":8,"align":8}]}],
 "root":{"op":"project","columns":[{"input":0,"column":0}],"child":{"op":"join","kind":"inner","rows":16384,
  "left":{"op":"scan","input":0},"right":{"op":"scan","input":1},
  "keys":[{"left":{"input":0,"column":0},"right":{"input":1,"column":0},"class":"int"}]}}},
 "runtime":{"generation":1,"parameters":[]}}`

// SelfTest joins two small relations on b, with memory from store, and verifies
// the number of result rows, which it returns.
func SelfTest(ctx context.Context, b executor.Executor, store *memory.Store) (int, error) {
	const left, right, keys = 4096, 512, 128
	account, err := memory.NewBudget(1<<28).Reserve(ctx, store, 1<<26, memory.Claim{}, 0)
	if err != nil {
		return 0, err
	}
	defer account.Close()
	decoded, err := planjson.Decode([]byte(selfTestJob))
	if err != nil {
		return 0, err
	}
	job := &executor.Job{Plan: decoded.Plan, Text: decoded.Text, Memory: account, Sink: &countingSink{account: account}}
	for i, rows := range []int{left, right} {
		e, err := account.Extent(false)
		if err != nil {
			return 0, err
		}
		defer e.Release()
		values := e.Data[: 0 : 8*rows]
		for row := range rows {
			values = binary.LittleEndian.AppendUint64(values, uint64(row%keys))
		}
		job.Inputs = append(job.Inputs, &joincore.Relation{
			Columns:  decoded.Plan.Inputs[i].Columns,
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
