package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"gpujoin/tests/harness"
)

// moment is when a worker gets a signal: when the daemon says that its only
// job is in that state.
type moment struct{ state, sql string }

// Nobody has rows while a job is fed, and while it runs; when it streams some
// have.
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

// signalled sends the worker a signal at every moment, and wants the device
// back after each.
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

// tries of hitting a moment that is short. A worker that ends five times stays
// away for long, so there are few.
const tries = 2

// signalAt sends a signal at a moment and judges how the query ends.
func (f *faulty) signalAt(ctx context.Context, signal syscall.Signal, m moment) (string, error) {
	for range tries {
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
		case a.err != nil: // too late, but it ended badly
			return "", a.err
		}
	}
	return "", errors.New("the job was further each time")
}

// hit is what a watcher did.
type hit struct {
	sent  bool
	after string // the job's state when the signal had been sent
	err   error
}

// in says whether the signal was sent in that state: before its end, for the
// one state whose end makes a difference.
func (h hit) in(state string) bool {
	return h.sent && (state != running.state || h.after == state)
}

// watch asks for the job's state until it is the wanted one or ctx ends, and
// then sends the signal.
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

// jobState is the state of the daemon's only job; "": it has none.
func (f *faulty) jobState() (string, error) {
	return f.witness.One(context.Background(), `select coalesce(status #>> '{jobs,0,state}', failure, '') from gpujoin.daemon_status()`)
}

// judge says how the query ended, or what is wrong with that: rows are right,
// and where none had been returned there are rows, joined on cores. Where some
// had been, one error is right, too.
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
