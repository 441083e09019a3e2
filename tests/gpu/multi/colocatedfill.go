//go:build cuda

package multi

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/columndata"
)

// colocatedBuild is the number of build rows of the case: 2^24 and 2^17 rare ones.
const colocatedBuild = rareEvery << 17

// uploaded is how many bytes of a column the host makes at a time.
const uploaded = 64 << 20

// makeColocated makes the inputs of a colocated case on the first device, of keys and one payload
// column a side, and computes the expected result.
func (d *devices) makeColocated(ctx context.Context, c columndata.Case) (err error) {
	m := d.members[0]
	host, err := m.Device.Pinned(uploaded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Free()) }()
	keys := colocated{build: c.Build, seed: uint32(m.Device.HashSeed())} // of which a key of 4 bytes takes the lower half
	m.Arena.Rewind(0)
	column := func(rows int64, value func(row int64) uint32) (columnar.Column, error) {
		at, err := m.Arena.Take(4*rows + driver.Line)
		if err != nil {
			return columnar.Column{}, err
		}
		for first := int64(0); first < rows; first += uploaded / 4 {
			n := min(rows-first, uploaded/4)
			inParallel(n, func(low, high int64) {
				for row := low; row < high; row++ {
					binary.LittleEndian.PutUint32(host.Bytes()[4*row:], value(first+row))
				}
			})
			if err := errors.Join(m.Stream.CopyIn(at+driver.Ptr(4*first), host.Bytes()[:4*n]), m.Stream.Sync(ctx)); err != nil {
				return columnar.Column{}, err
			}
		}
		return columnar.Column{Addr: at, Bytes: 4}, nil
	}
	sides := [2]columnar.Side{{Rows: c.Build}, {Rows: c.Probe}}
	for i := range sides {
		s := &sides[i]
		row := func(row int64) int64 { return row } // whose key it has
		if i == 1 {
			row = keys.partner
		}
		if s.Key, err = column(s.Rows, func(r int64) uint32 { return keys.key(row(r)) }); err != nil {
			return err
		}
		payload, err := column(s.Rows, func(r int64) uint32 { return colocatedValue(i, r) })
		if err != nil {
			return err
		}
		s.Payload = []columnar.Column{payload}
	}
	var sum atomic.Uint64
	inParallel(c.Probe, func(low, high int64) {
		part := uint64(0)
		for row := low; row < high; row++ {
			build := keys.partner(row)
			h := columndata.Chained(0, uint64(keys.key(build)))
			h = columndata.Chained(h, uint64(colocatedValue(0, build)))
			part += columndata.Chained(h, uint64(colocatedValue(1, row)))
		}
		sum.Add(part)
	})
	d.data.Join = columnar.Join{Build: sides[0], Probe: sides[1], OutputRows: c.Probe}
	d.data.Expected = columndata.Checksum{Sum: sum.Load(), Rows: uint64(c.Probe)}
	d.data.Mark = m.Arena.Mark()
	return nil
}

// colocatedValue returns the payload of a row of a side.
func colocatedValue(side int, row int64) uint32 {
	return uint32(mixed(uint64(row)<<1 | uint64(side)))
}

// inParallel calls f for ranges of rows, from as many goroutines as there are processors.
func inParallel(rows int64, f func(low, high int64)) {
	const chunk = 1 << 16
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for first := next.Add(chunk) - chunk; first < rows; first = next.Add(chunk) - chunk {
				f(first, min(first+chunk, rows))
			}
		})
	}
	wait.Wait()
}
