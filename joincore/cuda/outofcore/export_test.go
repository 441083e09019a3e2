//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"
	"time"

	"gpujoin/joincore/cuda/rowid"
)

// What tests of divisions on a device use; they are not in this package since they
// import the provider.

type Division = division

const Null = null

var (
	NewDivision = newDivision
	Keyed       = keyed
	Words       = words
)

func (d *division) Windows() int { return len(d.windows) }

// Divide partitions inputs for a join on one device. free frees the windows.
func Divide(ctx context.Context, e Resources, inputs ...*Division) (free func(), err error) {
	_, free, err = divideAndKeep(ctx, e, &resident{}, inputs...)
	return free, err
}

// DivideAndEvict is Divide, but windows stay on the device first, as many as it has memory
// for, and are downloaded later. It returns their number.
func DivideAndEvict(ctx context.Context, e Resources, inputs ...*Division) (stayed int, free func(), err error) {
	return divideAndKeep(ctx, e, &resident{allowed: true}, inputs...)
}

func divideAndKeep(ctx context.Context, e Resources, r *resident, inputs ...*Division) (stayed int, free func(), err error) {
	t := NewSharedJoin(1, true)
	_, rows, err := t.agree(ctx, 1, windowRows(e, r.allowed, inputs...))
	if err == nil {
		err = divide(ctx, e, t, r, rows, inputs...)
	}
	stayed = len(r.windows)
	if err == nil {
		err = r.evict(ctx, e)
	}
	if err != nil {
		t.leave()
	}
	return stayed, t.leave, err
}

// Piece returns a window's part of a payload of column 0, or of the row ids, as it is stored.
func (d *division) Piece(window int, kind rowid.PayloadKind, partition int) []byte {
	w, moved := d.windows[window], d.index(kind, 0)
	return w.piece(moved, w.how(moved).bytes(d.moved[moved].bytes), partition)
}

// Values is Piece for the values of column 0, as the input has them.
func (d *division) Values(window int, partition int) (values []byte, narrow bool) {
	values = d.Piece(window, rowid.PayloadValues, partition)
	how := d.windows[window].how(d.index(rowid.PayloadValues, 0))
	if !how.narrow {
		return values, false
	}
	var all []byte
	for ; len(values) > 0; values = values[narrowBytes:] {
		all = binary.LittleEndian.AppendUint64(all, how.base+uint64(binary.LittleEndian.Uint32(values)))
	}
	return all, true
}

// Scratch returns a window's memory, the bytes granted for it, and those of its slab.
func (d *division) Scratch(window int) (memory []byte, grant, slab int64) {
	s := d.windows[window].scratch
	if s.slab != nil {
		slab = s.slab.size()
	}
	return s.bytes, int64(len(s.grant) + len(s.more)), slab
}

func (p *Pool) Refusal() error             { return p.refusal() }
func (p *Pool) Used() int64                { return p.used }
func (p *Pool) Idle() int64                { return p.bytes }
func (p *Pool) KeepFor(idle time.Duration) { p.idle = idle }
