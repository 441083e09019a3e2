//go:build cuda

package outofcore

import (
	"time"

	"gpujoin/joincore/cuda/rowid"
)

// What tests of divisions on a device use; they are not in this package since they
// import the provider.

type Division = division

const Null = null

var (
	NewDivision = newDivision
	Divide      = divide
	Keyed       = keyed
	Words       = words
)

func (d *division) Windows() int { return len(d.windows) }
func (d *division) Free()        { d.free() }

// Piece returns a window's part of a payload of column 0, or of the row ids.
func (d *division) Piece(window int, kind rowid.PayloadKind, partition int) []byte {
	moved := d.index(kind, 0)
	return d.windows[window].piece(moved, d.moved[moved].bytes, partition)
}

// Scratch returns a window's memory, the bytes granted for it, and those of its slab.
func (d *division) Scratch(window int) (memory []byte, grant, slab int64) {
	s := d.windows[window].scratch
	if s.slab != nil {
		slab = s.slab.size()
	}
	return s.bytes, int64(len(s.grant)), slab
}

func (p *Pool) Settle()                    { settle(p) }
func (p *Pool) Refusal() error             { return p.refusal() }
func (p *Pool) Used() int64                { return p.used }
func (p *Pool) Idle() int64                { return p.bytes }
func (p *Pool) KeepFor(idle time.Duration) { p.idle = idle }
