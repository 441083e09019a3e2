package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// fault breaks something while joins run on a separate daemon. It passes if
// queries end as docs/gpu.md says and the device is used again.
type fault struct {
	name   string
	memory string // GPU memory for joins
	run    func(ctx context.Context, f *faulty) (notes []string, err error)
}

var faults = []fault{
	{"worker killed", "2GB", killWorker},
	{"worker stopped", "2GB", stopWorker},
	{"join cancelled", "2GB", cancelJoin},
	{"device memory exhausted", "256MB", exhaust},
}

// faultResult is a fault's entry in build/gpu-e2e.json.
type faultResult struct {
	Fault  string
	GPUs   int     // the most that executed a job together
	Ms     float64 // from the first query until the device is used again
	Passed bool
	Notes  []string
}

func (f *faultResult) result() measure.Result {
	return measure.Result{Name: "fault: " + f.Fault, Engine: measure.GPU, Equal: &f.Passed, Values: map[string]float64{"gpus": float64(f.GPUs), "took_ms": f.Ms},
		Texts: map[string]string{"notes": measure.OneLine(strings.Join(f.Notes, "; "))}}
}

// faulty is a daemon whose joins are disturbed.
type faulty struct {
	*mode
	want    map[string]*harness.Result // of a query, as PostgreSQL runs it
	devices int                        // the most that have executed a job together
}

// breakThings runs all faults.
func (w *world) breakThings(ctx context.Context) ([]*faultResult, error) {
	if w.modes[2].absent != "" {
		return nil, nil
	}
	want := map[string]*harness.Result{}
	for _, sql := range []string{manyRows, fewRows} {
		r, err := w.modes[0].session.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		want[sql] = r
	}
	var results []*faultResult
	for i, fault := range faults {
		r, err := w.breakThing(ctx, fault, i, want)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// breakThing runs a fault on a daemon of its own, whose jobs may have all GPUs that are asked
// for.
func (w *world) breakThing(ctx context.Context, fault fault, number int, want map[string]*harness.Result) (*faultResult, error) {
	say("%s", fault.name)
	m, err := w.cuda(ctx, fmt.Sprintf("fault%d", number), harness.DaemonOptions{"cuda-memory": fault.memory, "cuda-devices": strconv.Itoa(max(w.devices, 1)), "calibrate": "false"})
	if err != nil {
		return nil, err
	}
	// The join is a node of its own, whose rows are returned while it runs.
	if err := m.session.Exec(ctx, "set gpujoin.enable_aggregates = off"); err != nil {
		return nil, err
	}
	begin := time.Now()
	f := &faulty{mode: m, want: want}
	notes, err := fault.run(ctx, f)
	if err != nil {
		notes = append(notes, err.Error())
	}
	r := &faultResult{Fault: fault.name, GPUs: max(f.devices, 1), Ms: measure.Ms(time.Since(begin)), Passed: err == nil, Notes: notes}
	return r, m.daemon.Stop() // the next daemon needs its GPU memory
}

// answer is the outcome of a query.
type answer struct {
	err        error  // the statement's
	difference string // from the native plan's rows
	provider   string // that executed the join
	fallback   string // why no preferred provider did
}

// ask runs a query once and returns its outcome.
func (f *faulty) ask(ctx context.Context, sql string) answer {
	s := f.session
	if err := s.Exec(ctx, "drop table if exists answer"); err != nil {
		return answer{err: err}
	}
	plan, err := s.Explain(ctx, "analyze, timing off", "create temp table answer as "+sql)
	if err != nil {
		return answer{err: err}
	}
	got, err := s.Query(ctx, "select * from answer")
	if err != nil {
		return answer{err: err}
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 {
		return answer{err: fmt.Errorf("the plan has %d OffloadJoins", len(joins))}
	}
	a := answer{difference: harness.SameRows(f.want[sql], got), provider: joins[0].Text("Provider"), fallback: joins[0].Text("Provider Fallback")}
	f.devices = max(f.devices, int(joins[0].Number("Devices")))
	if why := joins[0].Text("Fallback"); why != "" {
		a.provider, a.fallback = "PostgreSQL itself", why
	}
	return a
}

// right runs a query and checks its rows against the native plan's.
func (f *faulty) right(ctx context.Context, sql string) (provider string, err error) {
	a := f.ask(ctx, sql)
	if a.err == nil && a.difference != "" {
		a.err = errors.New(a.difference)
	}
	return a.provider, a.err
}

// recovered waits for the device and checks that a query runs on it.
func (f *faulty) recovered(ctx context.Context) error {
	why, err := whyNoDevice(ctx, f.session)
	if err != nil || why != "" {
		return errors.Join(err, fmt.Errorf("the device did not come back: %s", why))
	}
	provider, err := f.right(ctx, manyRows)
	if err == nil && provider != f.mode.provider {
		err = fmt.Errorf("the join ran on %q", provider)
	}
	return err
}
