//go:build cuda

package multi

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/tests/columndata"
)

// hostExchange joins inputs in host memory by bringing an equal part of each to every device.
// The devices exchange the rows, and each sums up the rows of the result that it has made.
type hostExchange struct {
	*devices
	bed    *hostBed
	locked []*driver.Registration
}

// openExchange opens the devices with all of their memory, and page-locks the inputs for them.
func (b *bench) openExchange(ctx context.Context, h *hostBed) (_ *hostExchange, err error) {
	x := &hostExchange{bed: h}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	if x.devices, err = b.openDevices(func(c *driver.Context, _ int) (int64, error) {
		if b.repeated() {
			return 32 << 30, nil
		}
		free, err := c.FreeMemory()
		return free / 10 * 9, err
	}); err != nil {
		return nil, err
	}
	for _, memory := range h.memory[:2] {
		r, err := x.members[0].Device.Register(memory)
		if err != nil {
			return nil, err
		}
		x.locked = append(x.locked, r)
	}
	return x, x.measureRates(ctx)
}

func (x *hostExchange) close() error {
	var errs []error
	for _, r := range x.locked {
		errs = append(errs, r.Close())
	}
	if x.devices != nil {
		errs = append(errs, x.devices.close())
	}
	return errors.Join(errs...)
}

// join uploads the inputs, joins them, and returns the checksum of the payload of both sides.
func (x *hostExchange) join(ctx context.Context) (sum columndata.Checksum, err error) {
	for _, m := range x.members {
		m.Arena.Rewind(0)
	}
	parts := make([]columnar.Join, len(x.members))
	if err := x.onEach(func(i int) error { return x.upload(ctx, i, &parts[i]) }); err != nil {
		return sum, err
	}
	out, _, err := x.group.Join(ctx, parts, mgj.Options{Strategy: mgj.Exchange})
	if err != nil {
		return sum, err
	}
	sums := make([]columndata.Checksum, len(out))
	err = x.onEach(func(i int) (err error) {
		sums[i], err = x.sums[i].ChecksumOf(ctx, out[i].Rows, []columnar.Column{out[i].Build[0], out[i].Probe[0]})
		return err
	})
	for _, s := range sums {
		sum.Add(s)
	}
	return sum, err
}

// onEach calls a function for all devices at once.
func (x *hostExchange) onEach(f func(i int) error) error {
	errs := make([]error, len(x.members))
	var wait sync.WaitGroup
	for i := range x.members {
		wait.Go(func() { errs[i] = f(i) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// upload brings a device's part of both inputs to its memory.
func (x *hostExchange) upload(ctx context.Context, i int, part *columnar.Join) error {
	m, n := x.members[i], len(x.members)
	for side, r := range []*joincore.Relation{x.bed.inputs[1], x.bed.inputs[0]} {
		segments := r.Segments[len(r.Segments)*i/n : len(r.Segments)*(i+1)/n]
		to := sideOf(part, side)
		for s := range segments {
			to.Rows += int64(segments[s].Rows)
		}
		columns := make([]columnar.Column, 2)
		for c := range columns {
			at, err := m.Arena.Take(8*to.Rows + driver.Line)
			if err != nil {
				return err
			}
			columns[c] = columnar.Column{Addr: at, Bytes: 8}
			for s := range segments {
				values := segments[s].Columns[c].Values
				if err := m.Stream.CopyIn(at, values); err != nil {
					return err
				}
				at += driver.Ptr(len(values))
			}
		}
		to.Key, to.Payload = columns[0], columns[1:]
	}
	part.NoKey, part.OutputRows = true, part.Probe.Rows
	return m.Stream.Sync(ctx)
}

// expected returns the checksum of a result of some rows, as the device computes it: both columns
// of payload have the row's number.
func (x *hostExchange) expected(rows int64) columndata.Checksum {
	workers := int64(runtime.NumCPU())
	sums := make([]uint64, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for row := rows * w / workers; row < rows*(w+1)/workers; row++ {
				sums[w] += columndata.Chained(columndata.Chained(0, uint64(row)), uint64(row))
			}
		})
	}
	wait.Wait()
	sum := columndata.Checksum{Rows: uint64(rows)}
	for _, s := range sums {
		sum.Sum += s
	}
	return sum
}
