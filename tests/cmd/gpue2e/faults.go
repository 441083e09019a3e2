package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// fault breaks something while a join runs on the GPU. It is passed when the
// rows are the native plan's, now and afterwards.
type fault struct {
	name string
	run  func(ctx context.Context, w *world, f *faulty) (note string, err error)
}

var faults = []fault{
	{"plugin killed during a join", killPlugin},
	{"plugin stopped during a join", stopPlugin},
	{"join cancelled", cancelJoin},
	{"device memory exhausted", exhaust},
}

// faultResult is a fault's entry in build/gpu-e2e.json.
type faultResult struct {
	Fault  string  `json:"fault"`
	Ms     float64 `json:"ms"` // until the device was in use again
	Passed bool    `json:"passed"`
	Note   string  `json:"note"`
}

// faulty is the query that faults hit.
type faulty struct {
	query
	cuda *mode
	want *harness.Result
	took time.Duration // on the GPU, undisturbed
}

// breakThings runs all faults with one query.
func (w *world) breakThings(ctx context.Context, q query) ([]*faultResult, error) {
	f := &faulty{query: q, cuda: w.modes[2]}
	if f.cuda.absent != "" {
		return nil, nil
	}
	var err error
	if f.want, err = w.modes[0].session.Query(ctx, q.sql); err != nil {
		return nil, err
	}
	for range 2 { // the first one warms
		begin := time.Now()
		if err := f.right(ctx, f.cuda); err != nil {
			return nil, err
		}
		f.took = time.Since(begin)
	}
	var results []*faultResult
	for _, fault := range faults {
		say("%s", fault.name)
		begin := time.Now()
		note, err := fault.run(ctx, w, f)
		if err == nil {
			err = f.recovered(ctx)
		}
		r := &faultResult{Fault: fault.name, Ms: measure.Ms(time.Since(begin)), Passed: err == nil, Note: note}
		if err != nil {
			r.Note = err.Error()
		}
		results = append(results, r)
	}
	return results, nil
}

// right runs the query and compares its rows.
func (f *faulty) right(ctx context.Context, m *mode) error {
	got, err := m.session.Query(ctx, f.sql)
	if err != nil {
		return err
	}
	if d := harness.SameRows(f.want, got); d != "" {
		return errors.New(d)
	}
	return nil
}

// recovered waits for the device and wants the query to run on it.
func (f *faulty) recovered(ctx context.Context) error {
	why, err := whyNoDevice(ctx, f.cuda.session)
	if err != nil || why != "" {
		return errors.Join(err, fmt.Errorf("the device did not come back: %s", why))
	}
	if err := f.right(ctx, f.cuda); err != nil {
		return err
	}
	provider, err := f.provider(ctx, f.cuda)
	if err == nil && provider != f.cuda.provider {
		err = fmt.Errorf("afterwards the join ran on %q", provider)
	}
	return err
}

func (f *faulty) provider(ctx context.Context, m *mode) (string, error) {
	plan, err := m.session.Explain(ctx, "analyze, timing off", f.sql)
	if err != nil {
		return "", err
	}
	for _, g := range plan.GpuJoins() {
		return g.Text("Provider"), nil
	}
	return "", errors.New("the plan has no GpuJoin")
}

// signalDuring sends the plugin a signal at points of the query, which are
// shares of its time, each time wanting right rows and then the device back.
// Few points: a plugin that ends often is not started again for long.
func signalDuring(ctx context.Context, f *faulty, signal syscall.Signal, points ...float64) (string, error) {
	var notes []string
	for _, share := range points {
		ms, err := signalAt(ctx, f, signal, time.Duration(share*float64(f.took)))
		if err != nil {
			return "", fmt.Errorf("signal at %.0f %%: %w", 100*share, err)
		}
		notes = append(notes, fmt.Sprintf("%.0f ms", ms))
	}
	return "right rows after " + strings.Join(notes, ", "), nil
}

// signalAt runs the query and sends the signal after a while, a shorter one
// where the query is over before it. It returns what the query took.
func signalAt(ctx context.Context, f *faulty, signal syscall.Signal, after time.Duration) (ms float64, err error) {
	for range 5 {
		if err := f.recovered(ctx); err != nil {
			return 0, err
		}
		pid, err := childOf(f.cuda.daemon.PID(), "gpujoin-cuda")
		if err != nil {
			return 0, err
		}
		timer := time.AfterFunc(after, func() {
			_ = syscall.Kill(pid, signal) // it may have ended by itself
		})
		begin := time.Now()
		err = f.right(ctx, f.cuda)
		ms = measure.Ms(time.Since(begin))
		if early := timer.Stop(); !early || err != nil {
			return ms, err
		}
		after /= 2
	}
	return 0, errors.New("every query was over before it")
}

func killPlugin(ctx context.Context, _ *world, f *faulty) (string, error) {
	return signalDuring(ctx, f, syscall.SIGKILL, 0.4, 0.7)
}

func stopPlugin(ctx context.Context, _ *world, f *faulty) (string, error) {
	return signalDuring(ctx, f, syscall.SIGSTOP, 0.6)
}

// childOf finds a process's child by the name of its program.
func childOf(parent int, program string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // ended in between
		}
		// "123 (name) S 45 ...": a name may hold anything.
		text := string(data)
		open, end := strings.Index(text, "("), strings.LastIndex(text, ")")
		if open < 0 || end < open || !strings.HasPrefix(text[open+1:end], program) {
			continue
		}
		var pid, ppid int
		var state string
		if _, err := fmt.Sscan(text[:open], &pid); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if _, err := fmt.Sscan(text[end+1:], &state, &ppid); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if ppid == parent {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child %s", parent, program)
}

// cancelJoin wants a statement that is out of time to end within a second.
func cancelJoin(ctx context.Context, _ *world, f *faulty) (string, error) {
	s := f.cuda.session
	slack := time.Duration(0)
	for _, share := range []float64{0.2, 0.5, 0.8} {
		limit := max(time.Millisecond, time.Duration(share*float64(f.took)))
		if err := s.Exec(ctx, fmt.Sprintf("set statement_timeout = %d", limit.Milliseconds())); err != nil {
			return "", err
		}
		begin := time.Now()
		_, err := s.Query(ctx, f.sql)
		late := time.Since(begin) - limit
		if err := s.Exec(ctx, "reset statement_timeout"); err != nil {
			return "", err
		}
		if err != nil && harness.SQLState(err) != "57014" {
			return "", err
		}
		if slack = max(slack, late); slack > time.Second {
			return "", fmt.Errorf("it ended %v after its time", late)
		}
	}
	return fmt.Sprintf("ended at most %.0f ms late", measure.Ms(slack)), nil
}

// exhaust gives a daemon's plugin less device memory than the join needs.
func exhaust(ctx context.Context, w *world, f *faulty) (string, error) {
	options := w.cudaOptions()
	options["cuda-memory"] = "256MB"
	small, err := w.daemon(ctx, "small", options)
	if err != nil {
		return "", err
	}
	if err := small.set(ctx); err != nil {
		return "", err
	}
	if why, err := whyNoDevice(ctx, small.session); err != nil || why != "" {
		return "", errors.Join(err, errors.New(why))
	}
	if err := f.right(ctx, small); err != nil {
		return "", err
	}
	provider, err := f.provider(ctx, small)
	return "with 256 MB it ran on " + provider, err
}
