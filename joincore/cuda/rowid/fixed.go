package rowid

import (
	"encoding/binary"

	"gpujoin/joincore/program"
)

// Numbers of a launch that a specialised kernel takes for granted, and what it knows of
// a column (kernels/layout/fixed.h).
const (
	fixedFilter = iota
	fixedLength
	fixedBegin
	fixedMode
	fixedNoKeys
	fixedSlots
	fixedKeyWords

	fixedWidth     = 0xff
	fixedPositions = 0x100
	fixedValidity  = 0x200
)

// fixedOf returns what a kernel for a launch may take for granted. Addresses, constants
// and numbers of rows are no part of it, so that the kernel serves other launches.
func fixedOf(job *aggregateDescriptor, p *program.Program, columns []ColumnDescriptor, keyWords int) *Fixed {
	f := &Fixed{Numbers: []uint64{
		fixedFilter: job.Filter, fixedLength: job.Program.Length, fixedBegin: job.Begin, fixedMode: job.Mode, fixedNoKeys: job.NoKeys,
		fixedSlots: job.Program.Slots, fixedKeyWords: uint64(keyWords),
	}}
	for _, i := range p.Code {
		f.Code = append(f.Code, uint64(i))
	}
	for _, c := range columns {
		what := c.Width & fixedWidth
		if c.Positions != 0 {
			what |= fixedPositions
		}
		if c.Validity != 0 {
			what |= fixedValidity
		}
		f.Columns = append(f.Columns, what)
	}
	return f
}

// fixedKey returns a key for what is fixed: different for different kernels.
func fixedKey(kernel string, f *Fixed) string {
	key := append([]byte(kernel), 0)
	for _, list := range [][]uint64{f.Numbers, f.Columns, f.Code} {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, v := range list {
			key = binary.AppendUvarint(key, v)
		}
	}
	return string(key)
}
