package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// simulated is a device that reads inputs together with others.
type simulated struct {
	device.Provider
	number  int
	refused bool   // to access the memory of others
	file    string // whose existence has the device be lost; "": it is not
	lost    atomic.Pointer[gone]
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
	_, shared := o.Common.(together)
	o.Common = nil
	d, err := s.Provider.Open(mem, o)
	chunked, ok := d.(device.Chunked)
	if err != nil || !ok || !shared {
		return d, err
	}
	switch {
	case s.refused:
		return &alone{chunked, fmt.Errorf("device %d was refused access to the memory of another device", s.number)}, nil
	case s.file != "" && os.Remove(s.file) == nil:
		e := &gone{s.number}
		s.lost.Store(e)
		return &alone{chunked, e}, nil
	}
	return d, nil
}

// alone is a device whose steps fail that read columns of an input, for a reason.
type alone struct {
	device.Chunked
	refused error
}

// Partition implements device.Chunked.
func (a *alone) Partition(context.Context, device.Space, device.PartitionSpec) (device.Partitions, error) {
	return nil, a.refused
}

// Sort implements device.Chunked.
func (a *alone) Sort(context.Context, device.Space, device.SortSpec) (device.Sorted, error) {
	return nil, a.refused
}

// Build implements device.Chunked.
func (a *alone) Build(context.Context, device.Space, *device.Match) (device.Table, error) {
	return nil, a.refused
}
