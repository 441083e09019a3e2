package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"gpujoin/joincore"
)

// fake is a executor that a test makes up.
type fake struct {
	name  string
	ready error
	check error
	run   func(ctx context.Context, job *Job) error
	runs  int
}

// estimated is what a job needs, in bytes.
const estimated = 1 << 20

func (f *fake) Name() string                     { return f.name }
func (f *fake) Ready() error                     { return f.ready }
func (f *fake) Check(*joincore.Checked) error    { return f.check }
func (f *fake) Links() []Link                    { return nil }
func (f *fake) Devices() []Device                { return []Device{{Provider: f.name}} }
func (f *fake) Close()                           {}
func (f *fake) Estimate(*joincore.Checked) int64 { return estimated }

func (f *fake) Load() (joins, threads int) { return 0, 0 }

func (f *fake) Run(ctx context.Context, job *Job, stats *joincore.Stats) error {
	f.runs++
	stats.RowsOut++
	if f.run == nil {
		return nil
	}
	return f.run(ctx, job)
}

// brokenSink fails.
type brokenSink struct{ err error }

func (s brokenSink) NewBatch(context.Context, []float64) (*joincore.Batch, error) { return nil, s.err }
func (s brokenSink) Emit(context.Context, *joincore.Batch, int, []int) error      { return s.err }
func (s brokenSink) Discard(*joincore.Batch)                                      {}

// planOf returns a plan that counts rows, or one that returns them.
func planOf(t *testing.T, scan bool) *joincore.Checked {
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: []joincore.Column{column}}}, Root: &joincore.Scan{}}
	if !scan {
		plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 1, Functions: []joincore.Function{{Kind: joincore.Count}}}
	}
	checked, err := joincore.Check(plan)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// TestChoice: which executor runs a job, and what is said of it.
func TestChoice(t *testing.T) {
	boom, errSink := errors.New("boom\nwith a stack"), errors.New("sink failed")
	fails := func(context.Context, *Job) error { return boom }
	asksAhead := func(ctx context.Context, job *Job) error {
		_, _ = job.Sink.NewBatch(ctx, nil)
		return boom
	}
	asks := func(ctx context.Context, job *Job) error {
		_, err := job.Sink.NewBatch(ctx, nil)
		return fmt.Errorf("no batch: %w", err)
	}
	emits := func(ctx context.Context, job *Job) error { return job.Sink.Emit(ctx, nil, 1, nil) }
	for name, c := range map[string]struct {
		first    fake
		rows     int
		insist   bool
		slower   bool // elsewhere, by prediction
		scan     bool // the plan has neither joins nor aggregates
		again    bool
		cancel   bool
		runs     int // of the first
		last     int
		by       string
		fallback string
		err      error
	}{
		"ready":                         {rows: 10, runs: 1, by: "first"},
		"too small":                     {rows: 9, last: 1, by: "last"},
		"not worth it":                  {rows: 10, slower: true, last: 1, by: "last"},
		"only rows":                     {rows: 10, scan: true, last: 1, by: "last"},
		"only rows, asked for":          {rows: 10, scan: true, insist: true, last: 1, by: "last"},
		"absent":                        {rows: 10, first: fake{ready: fmt.Errorf("%w: no driver", ErrAbsent)}, last: 1, by: "last"},
		"absent, asked for":             {rows: 0, insist: true, first: fake{ready: fmt.Errorf("%w: no driver", ErrAbsent)}, last: 1, by: "last", fallback: "first: not available on this machine: no driver"},
		"out of service":                {rows: 10, first: fake{ready: ErrUnavailable}, last: 1, by: "last", fallback: "first: out of service"},
		"not able to":                   {rows: 10, first: fake{check: joincore.ErrUnsupported}, last: 1, by: "last"},
		"not able to, asked for":        {rows: 10, insist: true, first: fake{check: joincore.ErrUnsupported}, last: 1, by: "last", fallback: "first: not supported"},
		"fails":                         {rows: 10, first: fake{run: fails}, again: true, runs: 1, last: 1, by: "last", fallback: "first: boom"},
		"fails after rows left":         {rows: 10, first: fake{run: fails}, runs: 1, by: "first", err: boom},
		"fails when cancelled":          {rows: 10, first: fake{run: fails}, again: true, cancel: true, runs: 1, by: "first", err: boom},
		"the sink fails":                {rows: 10, first: fake{run: emits}, again: true, runs: 1, by: "first", err: errSink},
		"the sink refuses":              {rows: 10, first: fake{run: asks}, again: true, runs: 1, by: "first", err: errSink},
		"an unneeded refusal":           {rows: 10, first: fake{run: asksAhead}, again: true, runs: 1, last: 1, by: "last", fallback: "first: boom"},
		"a value is out of range there": {rows: 10, first: fake{run: func(context.Context, *Job) error { return fmt.Errorf("a sum: %w", joincore.ErrArithmetic) }}, again: true, runs: 1, by: "first", err: joincore.ErrArithmetic},
		"the data are invalid":          {rows: 10, first: fake{run: func(context.Context, *Job) error { return joincore.ErrChanged }}, again: true, runs: 1, by: "first", err: joincore.ErrInvalid},
		"a row is too wide there":       {rows: 10, first: fake{run: func(context.Context, *Job) error { return joincore.ErrRowTooWide }}, again: true, runs: 1, by: "first", err: joincore.ErrRowTooWide},
	} {
		first, last := c.first, fake{name: "last"}
		first.name = "first"
		policy := Policy{MinRows: 10, Insist: c.insist, Worth: func(*Job, func(uint64) bool) bool { return !c.slower }}
		if c.insist {
			policy.MinRows = 0
		}
		s := NewSet(&last, policy, slog.New(slog.DiscardHandler), &first)
		ctx, cancel := context.WithCancel(t.Context())
		if c.cancel {
			cancel()
		}
		by, fallback := "", ""
		job := &Job{
			Plan: planOf(t, c.scan), Inputs: []*joincore.Relation{{Segments: []joincore.Segment{{Rows: c.rows}}}}, Sink: brokenSink{errSink},
			Begin: func(provider, reason string) { by, fallback = provider, reason },
			Again: func() bool { return c.again },
		}
		var stats joincore.Stats
		err := s.Run(ctx, job, &stats)
		cancel()
		if !errors.Is(err, c.err) || first.runs != c.runs || last.runs != c.last || by != c.by || fallback != c.fallback || stats.RowsOut != 1 {
			t.Errorf("%s: %d and %d runs, by %q, %q, %v, %+v", name, first.runs, last.runs, by, fallback, err, stats)
		}
		want := []string{"first", "last"}
		if errors.Is(first.ready, ErrAbsent) {
			want = want[1:]
		}
		if n := s.Names(); !slices.Equal(n, want) || len(s.Devices()) != 2 {
			t.Error(n, s.Devices())
		}
		if n := s.Estimate(nil); n != estimated {
			t.Errorf("%d bytes are expected to be needed, want what the last executor says, %d", n, estimated)
		}
		s.Close()
	}
}
