//go:build cuda

package main

import (
	"context"
	"encoding/binary"
	"math"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// data makes inputs on the device and sums up results there.
type data struct {
	bench             *bench
	module            *driver.Module
	fill, expect, sum *driver.Kernel

	number, fetch, expectSequence *driver.Kernel // of sequences
	host                          *driver.Host

	join     columnar.Join
	expected checksum
	mark     driver.Mark // of the arena, after the inputs
}

// checksum is a sum over rows of a hash of all their values.
type checksum struct{ sum, rows uint64 }

const (
	dataBlocks  = 4096
	columnBytes = 16
	mostColumns = 64
	tableBytes  = 2 * mostColumns * columnBytes
)

func (d *data) load(b *bench) (err error) {
	d.bench = b
	if d.module, err = b.device.Load(kernels.Data); err != nil {
		return err
	}
	for name, k := range map[string]**driver.Kernel{
		"data_fill": &d.fill, "data_expect": &d.expect, "data_sum": &d.sum,
		"data_number": &d.number, "data_fetch": &d.fetch, "data_expect_sequence": &d.expectSequence,
	} {
		if *k, err = d.module.Kernel(name); err != nil {
			return err
		}
	}
	d.host, err = b.device.Pinned(tableBytes + 16)
	return err
}

func (d *data) close() {
	d.host.Free()
	d.module.Unload()
}

// describe writes columns as the kernels read them.
func (d *data) describe(at int, columns []columnar.Column) {
	for i, c := range columns {
		p := d.host.Bytes()[(at+i)*columnBytes:]
		binary.LittleEndian.PutUint64(p, uint64(c.Addr))
		binary.LittleEndian.PutUint64(p[8:], uint64(c.Bytes))
	}
}

func (d *data) columns(s *columnar.Side) []columnar.Column {
	return append([]columnar.Column{s.Key}, s.Payload...)
}

// fill makes a case's inputs at the start of the arena and computes the expected result
// from the formulas.
func (b *bench) fill(ctx context.Context, c join) error {
	b.arena.Rewind(0)
	d := &b.data
	side := func(rows int64, widths []int) (s columnar.Side, err error) {
		s.Rows = rows
		for _, w := range append([]int{c.key}, widths...) {
			at, err := b.arena.Take(rows*int64(w) + driver.Line)
			if err != nil {
				return s, err
			}
			s.Payload = append(s.Payload, columnar.Column{Addr: at, Bytes: w})
		}
		s.Key, s.Payload = s.Payload[0], s.Payload[1:]
		return s, nil
	}
	var err error
	d.join = columnar.Join{}
	if d.join.Build, err = side(c.build, c.buildWidths); err != nil {
		return err
	}
	if d.join.Probe, err = side(c.probe, c.probeWidths); err != nil {
		return err
	}
	mark := b.arena.Mark()
	table, err := b.arena.Take(tableBytes + 16)
	if err != nil {
		return err
	}
	build, probe := d.columns(&d.join.Build), d.columns(&d.join.Probe)
	d.describe(0, build)
	d.describe(mostColumns, probe)
	if err := b.stream.CopyIn(table, d.host.Bytes()[:tableBytes]); err != nil {
		return err
	}
	zipf := math.Float64bits(c.zipf)
	if c.zipf == 0 {
		zipf = 0
	}
	dense := uint64(0)
	if c.dense {
		dense = uint64(c.distinct)
	}
	probeTable := uint64(table) + mostColumns*columnBytes
	if err := d.fill.Launch(b.stream, dataBlocks, 0, uint64(c.build), uint64(table), uint64(len(build)), uint64(c.distinct), 0, 0, dense); err != nil {
		return err
	}
	if err := d.fill.Launch(b.stream, dataBlocks, 1, uint64(c.probe), probeTable, uint64(len(probe)), uint64(c.domain), zipf, 0, dense); err != nil {
		return err
	}
	d.expected, err = d.summed(ctx, table+tableBytes, func(at uint64) error {
		return d.expect.Launch(b.stream, dataBlocks, uint64(c.build), uint64(c.probe), uint64(table), uint64(len(build)), probeTable,
			uint64(len(probe)), uint64(c.distinct), uint64(c.domain), zipf, dense, at)
	})
	b.arena.Rewind(mark)
	d.mark = mark
	d.join.OutputRows = int64(d.expected.rows)
	return err
}

// summed runs a kernel that adds to a checksum on the device and returns it.
func (d *data) summed(ctx context.Context, at driver.Ptr, launch func(at uint64) error) (checksum, error) {
	s := d.bench.stream
	if err := s.Memset(at, 0, 16); err != nil {
		return checksum{}, err
	}
	if err := launch(uint64(at)); err != nil {
		return checksum{}, err
	}
	if err := s.CopyOut(d.host.Bytes()[tableBytes:], at); err != nil {
		return checksum{}, err
	}
	err := s.Sync(ctx)
	w := d.host.Words()[tableBytes/8:]
	return checksum{w[0], w[1]}, err
}

// checksum sums up a result.
func (d *data) checksum(ctx context.Context, o *columnar.Output) (checksum, error) {
	return d.checksumOf(ctx, o.Rows, append(append([]columnar.Column{o.Key}, o.Build...), o.Probe...))
}

// checksumOf sums up the given rows of columns.
func (d *data) checksumOf(ctx context.Context, rows int64, columns []columnar.Column) (checksum, error) {
	b := d.bench
	table, err := b.arena.Take(tableBytes + 16)
	if err != nil {
		return checksum{}, err
	}
	d.describe(0, columns)
	if err := b.stream.CopyIn(table, d.host.Bytes()[:tableBytes]); err != nil {
		return checksum{}, err
	}
	return d.summed(ctx, table+tableBytes, func(at uint64) error {
		return d.sum.Launch(b.stream, dataBlocks, uint64(rows), uint64(table), uint64(len(columns)), at)
	})
}
