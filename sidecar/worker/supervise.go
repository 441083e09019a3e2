package worker

import (
	"context"
	"fmt"
	"math"
	"time"

	"gpujoin/sidecar/executor"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// supervise keeps a child running until ctx is done.
func (r *Remote) supervise(ctx context.Context) {
	defer close(r.done)
	b := &breaker{timing: r.config.Timing}
	for ctx.Err() == nil {
		if err := r.config.Probe(); err != nil {
			r.set(executor.StateAbsent, err, nil, nil)
			sleep(ctx, r.config.Timing.Probe)
			continue
		}
		r.set(executor.StateStarting, nil, nil, nil)
		p, now, err := startProcess(ctx, &r.config, r.sum)
		if err == nil {
			r.set(executor.StateReady, nil, p, now)
			err = r.attend(ctx, p)
		}
		if ctx.Err() != nil {
			return
		}
		pause, open := b.died(time.Now())
		state := executor.StateWaiting
		if open {
			state = executor.StateBroken
		}
		r.config.Log.Warn("worker ended", "provider", r.config.Name, "error", err, "state", state, "pause", pause)
		r.set(state, err, nil, nil)
		r.died()
		sleep(ctx, pause)
	}
}

// attend polls a child's status until the child ends, or stops it when ctx is
// done. The error is the reason for its end. No job is given to a child that was
// killed and takes long to exit.
func (r *Remote) attend(ctx context.Context, p *process) error {
	tick := time.NewTicker(r.config.Timing.Health)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.stop()
			return nil
		case <-p.exited:
			return p.exitReason()
		case <-p.ctx.Done():
			if !p.exitsWithin(exitGrace) {
				r.set(executor.StateWaiting, p.exitReason(), nil, nil)
			}
			select {
			case <-ctx.Done():
				p.stop()
			case <-p.exited:
			}
			return p.exitReason()
		case <-tick.C:
		}
		now, err := p.status(ctx, r.config.Timing.Silence)
		switch {
		case ctx.Err() != nil || p.ctx.Err() != nil:
		case status.Code(err) == codes.DeadlineExceeded:
			p.kill(fmt.Errorf("no answer to health checks for %v: %w", r.config.Timing.Silence, err))
		case err != nil:
			p.brokenOff(err)
		default:
			r.set(executor.StateReady, nil, p, now)
		}
	}
}

// status requests the state of the child's devices.
func (p *process) status(ctx context.Context, timeout time.Duration) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := p.worker.Status(ctx, p.contents.ask())
	if err != nil {
		return nil, err
	}
	if err := p.contents.note(reply.GetContents()); err != nil {
		return nil, err
	}
	out := &report{}
	for i, d := range reply.GetDevices() {
		if i == maxDevices {
			break
		}
		device := executor.Device{
			Number: i, Name: clip(d.GetName(), maxName), Memory: d.GetMemory(), Budget: d.GetBudget(), Used: d.GetUsed(), Resident: max(d.GetResident(), 0),
			Jobs: int(d.GetJobs()), Queued: int(d.GetQueued()), Reason: clip(d.GetNote(), maxNote), State: executor.StateReady,
		}
		for _, s := range d.GetStrategies()[:min(len(d.GetStrategies()), maxStrategies)] {
			device.Strategies = append(device.Strategies, executor.Strategy{Name: clip(s.GetName(), maxName), Reason: clip(s.GetReason(), maxNote), Note: clip(s.GetNote(), maxNote)})
		}
		for _, m := range d.GetMethods()[:min(len(d.GetMethods()), maxStrategies)] {
			device.Methods = append(device.Methods, executor.Method{Name: clip(m.GetName(), maxName), Reason: clip(m.GetReason(), maxNote)})
		}
		if d.GetUnused() != "" {
			device.State, device.Reason = executor.StateBroken, clip(d.GetUnused(), maxNote)
		}
		out.devices = append(out.devices, device)
	}
	if len(out.devices) > 0 {
		out.devices[0].Kept = max(reply.GetKept(), 0)
	}
	for i, l := range reply.GetLinks() {
		if i == maxLinks {
			break
		}
		out.links = append(out.links, executor.Link{
			From: end(l.GetFrom(), len(out.devices)), To: end(l.GetTo(), len(out.devices)), Kind: clip(l.GetKind(), maxName),
			GBps: rate(l.GetGbps()), Latency: float64(max(l.GetLatencyNs(), 0)) / 1e3, Note: clip(l.GetNote(), maxNote),
		})
	}
	return out, nil
}

// report is what a child says of its devices.
type report struct {
	devices []executor.Device
	links   []executor.Link
}

// end returns the number of a device, or nil for the host.
func end(number int32, devices int) *int {
	if number < 0 || int(number) >= devices {
		return nil
	}
	n := int(number)
	return &n
}

// rate returns a rate that JSON can describe.
func rate(gbps float64) float64 {
	if !(gbps > 0) || math.IsInf(gbps, 0) {
		return 0
	}
	return gbps
}

// Limits on the status that a child may report.
const (
	maxDevices    = 64
	maxStrategies = 16 // of a device, and methods
	maxLinks      = 1024
	maxName       = 64
	maxNote       = 256
)

func clip(s string, most int) string { return s[:min(len(s), most)] }

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// breaker decides when a child that has ended is restarted. The pause doubles
// with each end. After too many ends within a window the breaker opens, since
// another restart is unlikely to help, and the child is restarted only after a
// long pause.
type breaker struct {
	timing Timing
	deaths []time.Time // within the window
}

// died records an end and returns the pause before the next start, and whether
// the breaker is open.
func (b *breaker) died(now time.Time) (pause time.Duration, open bool) {
	kept := b.deaths[:0]
	for _, d := range b.deaths {
		if now.Sub(d) < b.timing.Window {
			kept = append(kept, d)
		}
	}
	b.deaths = append(kept, now)
	if len(b.deaths) >= b.timing.Deaths {
		b.deaths = nil
		return b.timing.Open, true
	}
	pause = b.timing.RestartFirst << (len(b.deaths) - 1)
	return min(pause, b.timing.RestartMost), false
}
