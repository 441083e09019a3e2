package e2e

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"gpujoin/tests/harness"
)

// moment is when a worker gets a signal: while the daemon reports this state
// for its only job.
type moment struct{ state, sql string }

// While a job is fed, and while it runs, no rows have been returned; while it
// streams, some have.
var (
	feeding   = moment{"feeding", manyRows}
	running   = moment{"running", fewRows}
	streaming = moment{"streaming", manyRows}
)

func killWorker(ctx context.Context, f *faulty) ([]string, error) {
	return f.signalled(ctx, syscall.SIGKILL, feeding, running, streaming)
}

func stopWorker(ctx context.Context, f *faulty) ([]string, error) {
	return f.signalled(ctx, syscall.SIGSTOP, running, streaming)
}

// signalled sends the worker a signal at every moment, and checks that the
// device returns after each.
func (f *faulty) signalled(ctx context.Context, signal syscall.Signal, moments ...moment) (notes []string, err error) {
	for _, m := range moments {
		begin := time.Now()
		note, err := f.signalAt(ctx, signal, m)
		if err != nil {
			return notes, fmt.Errorf("while %s: %w", m.state, err)
		}
		notes = append(notes, fmt.Sprintf("%s: %s (%.1f s)", m.state, note, time.Since(begin).Seconds()))
	}
	return notes, f.recovered(ctx)
}

// Attempts to hit a short moment: those that send a signal, and all. After five deaths a
// worker is not restarted for long, so few may send one; the others harm nothing.
const (
	mostSent = 2
	mostAll  = 20
)

// signalAt sends a signal at a moment and judges the query's outcome.
func (f *faulty) signalAt(ctx context.Context, signal syscall.Signal, m moment) (string, error) {
	sent := 0
	for range mostAll {
		if err := f.recovered(ctx); err != nil {
			return "", err
		}
		worker, err := harness.ChildOf(f.daemon.PID())
		if err != nil {
			return "", err
		}
		watching, stop := context.WithCancel(ctx)
		hit := make(chan hit, 1)
		go func() { hit <- f.watch(watching, m.state, worker, signal) }()
		a := f.ask(ctx, m.sql)
		stop()
		switch h := <-hit; {
		case h.err != nil:
			return "", h.err
		case h.in(m.state):
			return m.judge(a)
		case a.err != nil: // too late, but the query failed
			return "", a.err
		case h.sent:
			sent++
		}
		if sent == mostSent {
			break
		}
	}
	return "", errors.New("the job was further each time")
}

// hit is the result of a watcher.
type hit struct {
	sent  bool
	after string // the job's state after the signal was sent
	err   error
}

// in reports whether the signal was sent in that state; for a state whose end
// matters, before that end.
func (h hit) in(state string) bool {
	return h.sent && (state != running.state || h.after == state)
}

// watch polls the job's state until it is the wanted one or ctx ends, then sends the
// signal.
func (f *faulty) watch(ctx context.Context, state string, worker int, signal syscall.Signal) hit {
	for ctx.Err() == nil {
		now, err := f.jobState()
		if err != nil {
			return hit{err: err}
		}
		if now != state {
			continue
		}
		if err := syscall.Kill(worker, signal); err != nil {
			return hit{err: fmt.Errorf("signal to process %d: %w", worker, err)}
		}
		now, err = f.jobState()
		return hit{sent: true, after: now, err: err}
	}
	return hit{}
}

// jobState returns the state of the daemon's only job, "" if it has none.
func (f *faulty) jobState() (string, error) {
	return f.witness.One(context.Background(), `select coalesce(status #>> '{jobs,0,state}', failure, '') from gpujoin.daemon_status()`)
}

// judge describes the query's outcome, or returns what is wrong with it: rows
// must be right; if none had been returned, the query must succeed on the CPU;
// if some had been, one error is also right.
func (m moment) judge(a answer) (string, error) {
	switch {
	case a.err != nil && m == streaming && harness.SQLState(a.err) == "08006":
		return "error 08006, since rows had been returned", nil
	case a.err != nil:
		return "", a.err
	case a.difference != "":
		return "", errors.New(a.difference)
	case m == running && (a.provider != "cpu" || a.fallback == ""):
		return "", fmt.Errorf("right rows, but of %s, because %q", a.provider, a.fallback)
	case a.fallback != "":
		return fmt.Sprintf("right rows, of %s because %s", a.provider, a.fallback), nil
	}
	return "right rows, of " + a.provider, nil
}
