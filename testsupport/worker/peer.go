package main

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// simulated is a device that reads inputs together with others.
type simulated struct {
	device.Provider
	number  int
	refused bool // to access the memory of others
}

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
	if chunked, ok := d.(device.Chunked); err == nil && shared && s.refused && ok {
		return &alone{chunked, fmt.Errorf("device %d was refused access to the memory of another device", s.number)}, nil
	}
	return d, err
}

// alone is a device whose steps fail that read columns of an input.
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
