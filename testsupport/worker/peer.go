package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/bulk"
)

// simulated is a device that reads inputs together with others.
type simulated struct {
	device.Provider
	number int
	fault  string // "": none
	file   string // whose existence causes the fault
	lost   atomic.Pointer[gone]
	resident
	reading
}

// Lost tells the worker whether the device still works.
func (s *simulated) Lost() error {
	if e := s.lost.Load(); e != nil {
		return e
	}
	return nil
}

// gone is the error of a device that is lost.
type gone struct{ device int }

func (e *gone) Error() string {
	return fmt.Sprintf("device %d touched an illegal address of another device", e.device)
}

// Sticky says that the device does not work again.
func (*gone) Sticky() bool { return true }

// together marks an execution that reads inputs of others.
type together struct{}

// Share tells each of the executions that it reads inputs together with the others.
func (*simulated) Share(members []device.Provider, _ []int) []any {
	list := make([]any, len(members))
	for i := range list {
		list[i] = together{}
	}
	return list
}

// Open implements device.Provider.
func (s *simulated) Open(mem joincore.Memory, o device.Options) (device.Device, error) {
	_, shared := o.Common.Share.(together)
	o.Common = device.Common{Team: o.Common.Team}
	d, err := s.Provider.Open(mem, o)
	if err != nil {
		return nil, err
	}
	chunked, ok := d.(device.Chunked)
	if !ok {
		whole := seeingBulk{d.(device.Bulk), &s.resident, s.reading}
		if r, ok := d.(exchangeReport); ok {
			return &seeingTeam{whole, r}, nil
		}
		return &whole, nil
	}
	chunked = &seeing{chunked, &s.resident, s.reading}
	switch {
	case s.fault == "hang" && os.Remove(s.file) == nil:
		return &faulty{chunked, func() error { select {} }}, nil
	case shared && s.fault == "peer":
		e := fmt.Errorf("device %d was refused access to the memory of another device", s.number)
		return &faulty{chunked, func() error { return e }}, nil
	case shared && s.fault == "lost" && os.Remove(s.file) == nil:
		e := &gone{s.number}
		s.lost.Store(e)
		return &faulty{chunked, func() error { return e }}, nil
	}
	return chunked, nil
}

// faulty is a device whose steps that read columns of an input end with the error of a function.
type faulty struct {
	device.Chunked
	step func() error
}

// Partition implements device.Chunked.
func (f *faulty) Partition(context.Context, device.Space, device.TransformSpec) (device.Partitions, error) {
	return nil, f.step()
}

// Sort implements device.Chunked.
func (f *faulty) Sort(context.Context, device.Space, device.TransformSpec) (device.Sorted, error) {
	return nil, f.step()
}

// Build implements device.Chunked.
func (f *faulty) Build(context.Context, device.Space, *device.Match) (device.Table, error) {
	return nil, f.step()
}

// exchanging is a device that executes whole steps and exchanges rows with others.
type exchanging struct {
	*simulated
	member *bulk.Member
	apart  bool // devices do not access each other's memory
}

// newExchanging returns such a device. It hangs when it meets others, in the device's work for all,
// if a file exists; "": it never does.
func newExchanging(number int, file string, reads reading, apart bool) exchanging {
	m := &bulk.Member{Provider: bulk.Provider{Inner: cpu.New()}}
	m.Hook = func(_ context.Context, when bulk.Moment, _ int) error {
		if when == bulk.At && file != "" && os.Remove(file) == nil {
			select {}
		}
		return nil
	}
	return exchanging{&simulated{Provider: m, number: number, reading: reads}, m, apart}
}

// Meets implements multi's team.
func (e exchanging) Meets(members []device.Provider, x *device.Exchange) error {
	if why := e.Staged(members); why != "" && x.Spread {
		return fmt.Errorf("%s: %w", why, joincore.ErrUnsupported)
	}
	return e.member.Meets(members, x)
}

// Staged implements multi's staging.
func (e exchanging) Staged([]device.Provider) string {
	if e.apart {
		return "cuda_peer_access is off"
	}
	return ""
}

// Team implements multi's team.
func (e exchanging) Team(members []device.Provider, x *device.Exchange) []any {
	return e.member.Team(members, x)
}

// dividing is a device that partitions the inputs of a join together with others, if that is
// demanded.
type dividing struct{ *simulated }

// Exceeds implements multi's partitioner: no input is too large for a device.
func (dividing) Exceeds(...*joincore.Relation) bool { return false }

// SharedJoin implements multi's partitioner.
func (dividing) SharedJoin(members []device.Provider) []any { return bulk.Parts(len(members)) }

// Execute implements exec.Executor.
func (d dividing) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory, sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	own, err := bulk.Part(plan, inputs, opt.Device.Common)
	if err != nil {
		return err
	}
	return exec.Run(ctx, d.simulated, plan, own, mem, sink, opt, stats)
}
