package columnar

import (
	"fmt"
	"math/bits"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// MaxSpread is the maximum number of devices whose memory a table spans.
const MaxSpread = 8

// spreadDescriptor mirrors gj_spread of kernels/layout/sort.h, where the fields are
// documented.
type spreadDescriptor struct {
	Table             tableDescriptor
	Devices, Own      uint64
	RowBits, UnitBits uint64
	Unit, Full        uint64
	Rows, Key, Next   [MaxSpread]uint64
}

// Placement returns on which device each of some units of a table lies, if device i has space for
// free[i]; nil: all of them have too little. costmodel.Interleave is one. A unit may lie on the host
// (costmodel.OnHost) if there is host memory.
type Placement func(units int, free []int) []int

// Placing says where the units of a table lie.
type Placing struct {
	On Placement
	// Host returns page-locked memory of the host, which all devices read at the host's addresses for as long
	// as they read the table; nil: there is none.
	Host func(bytes int64) ([]byte, error)
	// Rest places units of a table for which On finds too little space, though its slots are as full as they
	// may be; nil: there is no such table.
	Rest Placement
	// Spare is the least bytes that the table leaves of each device's memory, for probes.
	Spare int64
}

// TableSpace returns what a table may have of free bytes of a device, of which spare bytes have to be left: at
// most three quarters.
func TableSpace(free, spare int64) int64 { return max(0, min(free/4*3, free-spare)) }

// spreadShape is how a hash table lies in the memory of several devices.
type spreadShape struct {
	unitBits int   // a unit has 1 << unitBits slots
	rowBits  int   // of a build row's number that are its number on its device
	place    []int // by unit: the device, or costmodel.OnHost
}

const (
	// unitsPerDevice is how many units a device has about: enough for devices with different
	// memory, few enough that their addresses stay in the cache next to the processors.
	unitsPerDevice = 64
	// leastUnitBits keeps units from running full by chance: with four rows for five slots, the
	// expected number of rows is less than the slots by 14 times its standard deviation.
	leastUnitBits = 12
	// linkBytes is what the table takes for a build row in addition to its slots.
	linkBytes = 4
	// SpreadLeast is the least bytes that a table takes for a build row on all devices.
	SpreadLeast = SlotsLeast + linkBytes
	// SlotsLeast is the part of that for slots, which may lie on the host.
	SlotsLeast = slotBytes * 5 / 4
	// hostedFiner is by how many times more units a table has of which some may be on the host: these are only as
	// much as devices lack.
	hostedFiner = 8
	// hostedParts is by how many times the free memory of a device exceeds a unit, if units may lie on the
	// host: those are made on a device, in memory that the table leaves.
	hostedParts = 16
)

// shapeSpread shapes a table of build rows in the memory of devices, of which free[i] bytes are free.
// ErrUnsupported: no table has so many rows; ErrBudget: the devices have too little memory.
func shapeSpread(rows, free []int64, where Placing) (*spreadShape, error) {
	ids, all := device.NewRowIDs(len(rows)), int64(0)
	if len(rows) > MaxSpread {
		return nil, fmt.Errorf("npj: a table in the memory of %d devices, at most %d: %w", len(rows), MaxSpread, joincore.ErrUnsupported)
	}
	for i, n := range rows {
		if n > ids.Rows() {
			return nil, fmt.Errorf("npj: %d build rows on device %d of %d, at most %d: %w", n, i, len(rows), ids.Rows(), joincore.ErrUnsupported)
		}
		all += n
	}
	if all > maxTableRows {
		return nil, fmt.Errorf("npj: a table of %d build rows: %w", all, joincore.ErrUnsupported)
	}
	fullest := tableSlots(all, 0)
	for _, try := range []struct {
		slots int64
		place Placement
	}{{tableSlots(all, 1<<62), where.On}, {fullest, where.On}, {fullest, where.Rest}} {
		if try.place == nil {
			continue
		}
		s := &spreadShape{rowBits: ids.Bits(), unitBits: unitBits(try.slots, free, where.Host != nil)}
		space := make([]int, len(rows))
		for i := range space {
			space[i] = int(max(0, TableSpace(free[i], where.Spare)-linkBytes*rows[i]) / s.unitBytes())
		}
		units := (try.slots + s.unitSlots() - 1) / s.unitSlots()
		if units*s.unitSlots() > 2*maxTableRows {
			continue // slot numbers have 32 bits
		}
		if s.place = try.place(int(max(units, int64(len(rows)))), space); s.place != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("npj: %d devices have too little memory for a table of %d build rows: %w", len(rows), all, joincore.ErrBudget)
}

// unitBits returns the size of the units of a table, in bits of a slot's number.
func unitBits(slots int64, free []int64, hosted bool) int {
	n := bits.Len64(uint64(slots / int64(unitsPerDevice*len(free))))
	if hosted {
		n = bits.Len64(uint64(slots / int64(hostedFiner*unitsPerDevice*len(free))))
		n = min(n, bits.Len64(uint64(slices.Min(free)/hostedParts/slotBytes))-1)
	}
	return max(leastUnitBits, n)
}

func (s *spreadShape) unitSlots() int64 { return 1 << s.unitBits }
func (s *spreadShape) unitBytes() int64 { return slotBytes << s.unitBits }

// on returns how many units lie on a device.
func (s *spreadShape) on(device int) (n int) {
	for _, d := range s.place {
		if d == device {
			n++
		}
	}
	return n
}

// FarReads says how many bytes a device reads in the memory of the others. Kernels do not count them: they
// follow from numbers of rows, and from the others' shares of the slots and of the build rows.
type FarReads struct {
	Made        int64   // keys, to make the table
	slots, rows float64 // the others' shares
	value       int64   // bytes of a build row that a result row reads
}

// farReads returns what a device of the given number reads, if the build sides of all have some rows,
// keys of some bytes, and payload.
func (s *spreadShape) farReads(own int, rows []int64, keyBytes int, payload []int) FarReads {
	all := int64(0)
	for _, n := range rows {
		all += n
	}
	f := FarReads{
		Made: (all - rows[own]) * int64(keyBytes), slots: 1 - float64(s.on(own)+s.on(costmodel.OnHost))/float64(len(s.place)),
		rows: 1 - float64(rows[own])/float64(max(all, 1)),
	}
	if keyBytes > tagBytes { // a slot identifies narrower keys
		f.value = int64(keyBytes)
	}
	for _, bytes := range payload {
		f.value += int64(bytes)
	}
	return f
}

// Probed returns about how many bytes are read for some probe rows, a slot each, and result rows.
func (f *FarReads) Probed(probe, result int64) int64 {
	return int64(f.slots*float64(probe*slotBytes) + f.rows*float64(result*f.value))
}

// tagBytes is the width of the tag in a slot.
const tagBytes = 4

// addresses returns the addresses of all units. base has that of each device's first unit, and host that of the
// host's, which the others follow.
func (s *spreadShape) addresses(base []uint64, host uint64) []uint64 {
	list, next := make([]uint64, len(s.place)), append([]uint64(nil), base...)
	for u, d := range s.place {
		if d == costmodel.OnHost {
			list[u] = host
			host += uint64(s.unitBytes())
			continue
		}
		list[u] = next[d]
		next[d] += uint64(s.unitBytes())
	}
	return list
}

// only returns the addresses of units on one device, and 0 for the others.
func (s *spreadShape) only(addresses []uint64, device int) []uint64 {
	list := make([]uint64, len(addresses))
	for u, d := range s.place {
		if d == device {
			list[u] = addresses[u]
		}
	}
	return list
}

// hosted returns the numbers of the units on the host that a device makes: devices take turns.
func (s *spreadShape) hosted(device, devices int) (units []int) {
	n := 0
	for u, d := range s.place {
		if d != costmodel.OnHost {
			continue
		}
		if n%devices == device {
			units = append(units, u)
		}
		n++
	}
	return units
}
