//go:build cuda

package multi

import (
	"context"
	"errors"
	"runtime"
	"time"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// unified names the baseline of joins over unified memory (UMJ in MG-Join).
const unified = "unified"

// mostUnified is the most probe rows of the baseline: with more, pages that several devices
// read move back and forth for minutes.
const mostUnified = 1 << 24

// overUnified joins inputs in managed memory, in which each device first writes its own
// rows: each device joins its part of the probe side with the whole build side, and the
// driver brings the pages.
func (b *bench) overUnified(ctx context.Context, d *devices, parts []columnar.Join) (r joinResult, err error) {
	u, err := d.unify()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, u.free()) }()
	r = joinResult{How: unified}
	var ms []float64
	for i := range b.repeats + 1 {
		d.rewind()
		runtime.GC() // not within the measured time
		if err := u.place(ctx, d, parts); err != nil {
			return r, err
		}
		start := time.Now()
		outputs, reports, err := u.join(ctx, d, parts)
		if err != nil {
			return r, err
		}
		if i > 0 {
			ms = append(ms, float64(time.Since(start))/float64(time.Millisecond))
		}
		r.Algorithm = reports[0].Algorithm
		if i < b.repeats {
			continue
		}
		var got columndata.Checksum
		for k := range d.members {
			sum, err := d.sums[k].Checksum(ctx, outputs[k])
			if err != nil {
				return r, err
			}
			got.Add(sum)
		}
		if err := d.verify(got); err != nil {
			return r, err
		}
	}
	r.MS = measure.Round(measure.Median(ms), 3)
	return r, nil
}

// unifiedInputs are the columns of both sides in managed memory.
type unifiedInputs struct {
	sides  [2]columnar.Side
	memory []*driver.Managed
}

// unify takes managed memory for the inputs of all devices.
func (d *devices) unify() (_ *unifiedInputs, err error) {
	u := &unifiedInputs{}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.free())
		}
	}()
	for i := range u.sides {
		from, to := sideOf(&d.data.Join, i), &u.sides[i]
		to.Rows = from.Rows
		take := func(c columnar.Column) (columnar.Column, error) {
			m, err := d.members[0].Device.Managed(from.Rows*int64(c.Bytes) + driver.Line)
			if err != nil {
				return columnar.Column{}, err
			}
			u.memory = append(u.memory, m)
			return columnar.Column{Addr: m.DevicePointer(), Bytes: c.Bytes}, nil
		}
		if to.Key, err = take(from.Key); err != nil {
			return nil, err
		}
		for _, c := range from.Payload {
			column, err := take(c)
			if err != nil {
				return nil, err
			}
			to.Payload = append(to.Payload, column)
		}
	}
	return u, nil
}

func (u *unifiedInputs) free() error {
	var errs []error
	for _, m := range u.memory {
		errs = append(errs, m.Free())
	}
	return errors.Join(errs...)
}

// place has each device write its own rows.
func (u *unifiedInputs) place(ctx context.Context, d *devices, parts []columnar.Join) error {
	for side := range u.sides {
		first := int64(0)
		for i, m := range d.members {
			from := sideOf(&parts[i], side)
			into := append([]columnar.Column{u.sides[side].Key}, u.sides[side].Payload...)
			for c, column := range append([]columnar.Column{from.Key}, from.Payload...) {
				width := int64(column.Bytes)
				if err := m.Stream.Copy(into[c].Addr+driver.Ptr(first*width), column.Addr, from.Rows*width); err != nil {
					return err
				}
			}
			first += from.Rows
		}
	}
	for _, m := range d.members {
		if err := m.Stream.Sync(ctx); err != nil {
			return err
		}
	}
	return nil
}

// join joins on all devices at once.
func (u *unifiedInputs) join(ctx context.Context, d *devices, parts []columnar.Join) ([]*columnar.Output, []*columnar.Report, error) {
	outputs, reports, errs := make([]*columnar.Output, len(parts)), make([]*columnar.Report, len(parts)), make([]error, len(parts))
	done, first := make(chan struct{}), int64(0)
	for i, m := range d.members {
		j := columnar.Join{Build: u.sides[0], Probe: columnar.Side{Rows: parts[i].Probe.Rows}, OutputRows: parts[i].OutputRows}
		at := func(c columnar.Column) columnar.Column {
			return columnar.Column{Addr: c.Addr + driver.Ptr(first*int64(c.Bytes)), Bytes: c.Bytes}
		}
		j.Probe.Key = at(u.sides[1].Key)
		for _, c := range u.sides[1].Payload {
			j.Probe.Payload = append(j.Probe.Payload, at(c))
		}
		first += parts[i].Probe.Rows
		go func() {
			outputs[i], reports[i], errs[i] = selector.Run(ctx, m.Device, m.Stream, m.Arena, &j)
			done <- struct{}{}
		}()
	}
	for range parts {
		<-done
	}
	return outputs, reports, errors.Join(errs...)
}
