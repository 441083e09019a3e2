//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Sender is what a device needs for joins with other devices, in addition to what a join
// of its own needs. One join at a time uses it.
type Sender struct {
	stream      *driver.Stream
	copier      *driver.Stream // of blocks
	own         *driver.Stream // second passes over rows that stay, if others are copied
	module      *driver.Module
	fold, merge *driver.Kernel
	filters     *driver.Kernel // merges them
	hot         [2]hotKernels  // by words of a key - 1
	host        *driver.Host   // counts of rows, by flow and partition
	hotHost     *driver.Host   // hot keys, then a sample's keys
	sampled     *driver.Event  // counts of the first range of both sides are there
	first       *driver.Event  // those of the build side
	counted     *driver.Event
	looked      *driver.Event // a sample or hot keys were read
	start       *driver.Event
	passed      []*driver.Event // by flow: the first pass has ended
	sent        []*driver.Event // by flow: rows are where they are joined, or staged
}

// hotKernels sample keys, copy hot build rows, and copy the probe rows that are not hot.
type hotKernels struct{ sample, rows, cold *driver.Kernel }

// NewSender creates a sender. Close frees it.
func NewSender(d *driver.Context) (_ *Sender, err error) {
	x := &Sender{}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	if x.module, err = d.Load(kernels.Send); err != nil {
		return nil, err
	}
	layout, err := x.module.Constants("gj_send_layout")
	if err != nil {
		return nil, err
	}
	if want := []uint64{sendBytes, MaxDevices}; !slices.Equal(layout, want) {
		return nil, fmt.Errorf("the kernels' tables of receivers have the layout %v in place of %v", layout, want)
	}
	if x.fold, err = x.module.Kernel("gj_fold_counts"); err != nil {
		return nil, err
	}
	if x.merge, err = x.module.Kernel("gj_merge_counts"); err != nil {
		return nil, err
	}
	if x.filters, err = x.module.Kernel("gj_merge_filters"); err != nil {
		return nil, err
	}
	for i := range x.hot {
		h := &x.hot[i]
		for name, kernel := range map[string]**driver.Kernel{"gj_sample_keys": &h.sample, "gj_hot_rows": &h.rows, "gj_keep_cold": &h.cold} {
			if *kernel, err = x.module.Kernel(fmt.Sprintf("%s_k%d", name, i+1)); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range []**driver.Stream{&x.stream, &x.copier, &x.own} {
		if *s, err = d.NewStream(); err != nil {
			return nil, err
		}
	}
	if x.host, err = d.Pinned(MaxFlows * mostParents * 4); err != nil {
		return nil, err
	}
	if x.hotHost, err = d.Pinned(hotBytes + sampleKeyBytes); err != nil {
		return nil, err
	}
	for _, e := range []**driver.Event{&x.first, &x.sampled, &x.counted, &x.looked} {
		if *e, err = d.NewEvent(false); err != nil {
			return nil, err
		}
	}
	if x.start, err = d.NewEvent(true); err != nil {
		return nil, err
	}
	for range MaxFlows {
		for timing, list := range map[bool]*[]*driver.Event{false: &x.passed, true: &x.sent} {
			e, err := d.NewEvent(timing)
			if err != nil {
				return nil, err
			}
			*list = append(*list, e)
		}
	}
	return x, nil
}

// mostParents is the most partitions of a first pass.
const mostParents = 256

// Sync waits for all work of the sender.
func (x *Sender) Sync(ctx context.Context) error {
	return errors.Join(x.stream.Sync(ctx), x.copier.Sync(ctx), x.own.Sync(ctx))
}

// Close frees the sender, after its work.
func (x *Sender) Close() error {
	errs := []error{x.stream.Close(), x.copier.Close(), x.own.Close()}
	for _, e := range slices.Concat([]*driver.Event{x.sampled, x.first, x.counted, x.looked, x.start}, x.passed, x.sent) {
		errs = append(errs, e.Close())
	}
	return errors.Join(append(errs, x.host.Free(), x.hotHost.Free(), x.module.Unload())...)
}
