//go:build cuda

package selector

import (
	"encoding/binary"
	"math"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// trialData makes columns in an arena. Payload values never matter, so payload columns
// have unspecified content.
type trialData struct {
	stream  *driver.Stream
	arena   *driver.Arena
	module  *driver.Module
	fill    *driver.Kernel
	host    *driver.Host // page-locked, for a one-column descriptor
	payload [2]driver.Ptr
}

const (
	describedBytes = 16
	fillBlocks     = 4096
)

// newTrialData takes memory for payload columns of the given number of rows per side.
func newTrialData(d *driver.Context, s *driver.Stream, a *driver.Arena, rows [2]int64) (*trialData, error) {
	m, err := d.Load(kernels.Data)
	if err != nil {
		return nil, err
	}
	x := &trialData{stream: s, arena: a, module: m}
	if x.fill, err = m.Kernel("data_fill"); err != nil {
		return x, err
	}
	if x.host, err = d.Pinned(describedBytes); err != nil {
		return x, err
	}
	for i, n := range rows {
		if x.payload[i], err = a.Take(n*mostTrialPayload + mostTrialColumns*driver.Line); err != nil {
			return x, err
		}
	}
	return x, nil
}

func (x *trialData) close() {
	_ = x.host.Free()
	_ = x.module.Unload()
}

// Numbers of the sides in data_fill.
const (
	buildSide = 0
	probeSide = 1
)

// side makes a side. Build keys enumerate the domain from its start; probe keys are
// drawn from it, uniformly or by a Zipf law with exponent zipf.
func (x *trialData) side(number int, rows int64, keyBytes int, domain int64, zipf float64, widths []int) (s columnar.Side, err error) {
	s = columnar.Side{Rows: rows, Key: columnar.Column{Bytes: keyBytes}}
	if s.Key.Addr, err = x.arena.Take(rows*int64(keyBytes) + driver.Line); err != nil {
		return s, err
	}
	described, err := x.arena.Take(describedBytes)
	if err != nil {
		return s, err
	}
	binary.LittleEndian.PutUint64(x.host.Bytes(), uint64(s.Key.Addr))
	binary.LittleEndian.PutUint64(x.host.Bytes()[8:], uint64(keyBytes))
	if err := x.stream.CopyIn(described, x.host.Bytes()); err != nil {
		return s, err
	}
	factor := uint64(0)
	if zipf > 0 {
		factor = math.Float64bits(zipf)
	}
	if err := x.fill.Launch(x.stream, fillBlocks, uint64(number), uint64(rows), uint64(described), 1, uint64(domain), factor, 0, 0); err != nil {
		return s, err
	}
	at := x.payload[number]
	for _, w := range widths {
		s.Payload = append(s.Payload, columnar.Column{Addr: at, Bytes: w})
		at += driver.Ptr(driver.Lines(rows * int64(w)))
	}
	return s, nil
}
