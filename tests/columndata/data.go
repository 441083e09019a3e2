//go:build cuda

// Package columndata makes inputs of joins on a device and verifies results there, for
// benchmarks.
package columndata

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Case describes the inputs of a join.
type Case struct {
	Build, Probe int64 // rows
	Key          int   // bytes
	BuildWidths  []int // bytes of each payload column's values
	ProbeWidths  []int
	Distinct     int64   // build keys
	Domain       int64   // of probe keys; if above Distinct, the others have no match
	Zipf         float64 // exponent of the probe keys' distribution, 0: uniform
	Dense        bool    // build keys are a permutation of 0, 1, 2, ...
}

// Data makes inputs in an arena and sums up results.
type Data struct {
	Host   *driver.Host // for descriptions of columns, and two words
	Fill   *driver.Kernel
	Number *driver.Kernel
	// Of sequences.
	Fetch, ExpectSequence *driver.Kernel

	Join     columnar.Join
	Expected Checksum
	Mark     driver.Mark // of the arena, after the inputs

	stream      *driver.Stream
	arena       *driver.Arena
	module      *driver.Module
	expect, sum *driver.Kernel
}

// Checksum is a sum over rows of a hash of all their values.
type Checksum struct{ Sum, Rows uint64 }

// Add adds the rows of another part of the same result.
func (c *Checksum) Add(other Checksum) {
	c.Sum += other.Sum
	c.Rows += other.Rows
}

// Chained adds a word of a row to the row's part of a checksum, as the kernels do.
func Chained(sum, word uint64) uint64 {
	x := sum*0x9e3779b97f4a7c15 + word + 1
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	Blocks      = 4096
	columnBytes = 16
	mostColumns = 129 // of a side, the key included
	TableBytes  = 2 * mostColumns * columnBytes
)

// Load loads the kernels of a device. Close unloads them.
func Load(device *driver.Context, stream *driver.Stream, arena *driver.Arena) (d *Data, err error) {
	d = &Data{stream: stream, arena: arena}
	if d.module, err = device.Load(kernels.Data); err != nil {
		return nil, err
	}
	for name, k := range map[string]**driver.Kernel{
		"data_fill": &d.Fill, "data_expect": &d.expect, "data_sum": &d.sum,
		"data_number": &d.Number, "data_fetch": &d.Fetch, "data_expect_sequence": &d.ExpectSequence,
	} {
		if *k, err = d.module.Kernel(name); err != nil {
			return nil, errors.Join(err, d.module.Unload())
		}
	}
	if d.Host, err = device.Pinned(TableBytes + 16); err != nil {
		return nil, errors.Join(err, d.module.Unload())
	}
	return d, nil
}

// Close unloads the kernels and frees the host's memory.
func (d *Data) Close() error { return errors.Join(d.Host.Free(), d.module.Unload()) }

// Describe writes columns to the host's memory as the kernels read them.
func (d *Data) Describe(at int, columns []columnar.Column) {
	for i, c := range columns {
		p := d.Host.Bytes()[(at+i)*columnBytes:]
		binary.LittleEndian.PutUint64(p, uint64(c.Addr))
		binary.LittleEndian.PutUint64(p[8:], uint64(c.Bytes))
	}
}

func (d *Data) columns(s *columnar.Side) []columnar.Column {
	return append([]columnar.Column{s.Key}, s.Payload...)
}

// Make makes a case's inputs at the start of the arena and computes the expected result
// from the formulas.
func (d *Data) Make(ctx context.Context, c Case) error {
	if c.Key < 8 && c.Domain > 1<<(8*c.Key) {
		return fmt.Errorf("keys of %d bytes have fewer than %d values", c.Key, c.Domain)
	}
	if n := max(len(c.BuildWidths), len(c.ProbeWidths)); n >= mostColumns {
		return fmt.Errorf("%d payload columns on a side; a case has at most %d", n, mostColumns-1)
	}
	d.arena.Rewind(0)
	side := func(rows int64, widths []int) (s columnar.Side, err error) {
		s.Rows = rows
		for _, w := range append([]int{c.Key}, widths...) {
			at, err := d.arena.Take(rows*int64(w) + driver.Line)
			if err != nil {
				return s, err
			}
			s.Payload = append(s.Payload, columnar.Column{Addr: at, Bytes: w})
		}
		s.Key, s.Payload = s.Payload[0], s.Payload[1:]
		return s, nil
	}
	var err error
	d.Join = columnar.Join{}
	if d.Join.Build, err = side(c.Build, c.BuildWidths); err != nil {
		return err
	}
	if d.Join.Probe, err = side(c.Probe, c.ProbeWidths); err != nil {
		return err
	}
	mark := d.arena.Mark()
	table, err := d.arena.Take(TableBytes + 16)
	if err != nil {
		return err
	}
	build, probe := d.columns(&d.Join.Build), d.columns(&d.Join.Probe)
	d.Describe(0, build)
	d.Describe(mostColumns, probe)
	if err := d.stream.CopyIn(table, d.Host.Bytes()[:TableBytes]); err != nil {
		return err
	}
	zipf := math.Float64bits(c.Zipf)
	if c.Zipf == 0 {
		zipf = 0
	}
	dense := uint64(0)
	if c.Dense {
		dense = uint64(c.Distinct)
	}
	probeTable := uint64(table) + mostColumns*columnBytes
	if err := d.Fill.Launch(d.stream, Blocks, 0, uint64(c.Build), uint64(table), uint64(len(build)), uint64(c.Distinct), 0, 0, dense); err != nil {
		return err
	}
	if err := d.Fill.Launch(d.stream, Blocks, 1, uint64(c.Probe), probeTable, uint64(len(probe)), uint64(c.Domain), zipf, 0, dense); err != nil {
		return err
	}
	d.Expected, err = d.Summed(ctx, table+TableBytes, func(at uint64) error {
		return d.expect.Launch(d.stream, Blocks, uint64(c.Build), uint64(c.Probe), uint64(table), uint64(len(build)), probeTable,
			uint64(len(probe)), uint64(c.Distinct), uint64(c.Domain), zipf, dense, at)
	})
	d.arena.Rewind(mark)
	d.Mark = mark
	d.Join.OutputRows = int64(d.Expected.Rows)
	return err
}

// Summed runs a kernel that adds to a checksum on the device and returns it.
func (d *Data) Summed(ctx context.Context, at driver.Ptr, launch func(at uint64) error) (Checksum, error) {
	s := d.stream
	if err := s.Memset(at, 0, 16); err != nil {
		return Checksum{}, err
	}
	if err := launch(uint64(at)); err != nil {
		return Checksum{}, err
	}
	if err := s.CopyOut(d.Host.Bytes()[TableBytes:], at); err != nil {
		return Checksum{}, err
	}
	err := s.Sync(ctx)
	w := d.Host.Words()[TableBytes/8:]
	return Checksum{w[0], w[1]}, err
}

// Checksum sums up a result.
func (d *Data) Checksum(ctx context.Context, o *columnar.Output) (Checksum, error) {
	return d.ChecksumOf(ctx, o.Rows, append(append([]columnar.Column{o.Key}, o.Build...), o.Probe...))
}

// ChecksumOf sums up the given rows of columns.
func (d *Data) ChecksumOf(ctx context.Context, rows int64, columns []columnar.Column) (Checksum, error) {
	table, err := d.arena.Take(TableBytes + 16)
	if err != nil {
		return Checksum{}, err
	}
	d.Describe(0, columns)
	if err := d.stream.CopyIn(table, d.Host.Bytes()[:TableBytes]); err != nil {
		return Checksum{}, err
	}
	return d.Summed(ctx, table+TableBytes, func(at uint64) error {
		return d.sum.Launch(d.stream, Blocks, uint64(rows), uint64(table), uint64(len(columns)), at)
	})
}
