//go:build cuda

package rowid

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore/device"
	"gpujoin/testsupport/columnartest"
)

// All six kinds of joins, with partitions and with one table, over all kinds of keys;
// results in several parts; conditions; partitions.
func TestSet(t *testing.T) {
	const int4, int8, bytes16, varlena, none = 0, 1, 6, 8, 12 // of keyTypes
	r := newRig(t, 512<<20)
	var set []columnartest.Named
	add := func(name string, run func()) {
		set = append(set, columnartest.Named{Name: name, Run: func(random *rand.Rand) {
			r.rand = random
			run()
		}})
	}
	type change func(*joinCase)
	join := func(name string, keys int, emit device.Emit, o Options, changes ...change) {
		c := joinCase{keys: keyTypes[keys], build: 400, probe: 500, distribution: 1, nulls: 0.1, emit: emit, probes: 1, options: o}
		for _, f := range changes {
			f(&c)
		}
		add(name, func() { r.check(c) })
	}
	left := func(c *joinCase) { c.mark = true } // with the build rows that have no partner
	found := func(c *joinCase) { c.mark, c.found = true, true }
	residual := func(c *joinCase) { c.residual = true }

	parts, passes, table := Options{Bits: 3}, Options{Bits: 9}, Options{OneTable: true}
	join("inner", int4, device.Pairs, parts)
	join("left", int8, device.Outer, passes)
	join("right", int4, device.Pairs, passes, left)
	join("full", int8, device.Outer, parts, left)
	join("semi", int4, device.Semi, parts)
	join("anti", int8, device.Anti, parts)
	join("inner, one table", int8, device.Pairs, table)
	join("left, one table", int4, device.Outer, table)
	join("right, one table", int8, device.Pairs, table, left)
	join("full, one table", int4, device.Outer, table, left)
	join("semi, one table", int4, device.Semi, table)
	join("anti, one table", int8, device.Anti, table)
	join("semi of the build side", int4, device.Nothing, parts, found)
	join("semi of the build side, one table", int4, device.Nothing, table, found)
	join("keys of variable length", varlena, device.Pairs, parts, residual)
	join("keys of variable length, one table", varlena, device.Semi, table, residual)
	join("keys of 16 bytes whose hashes collide", bytes16, device.Outer, Options{Bits: 3, Collide: true}, func(c *joinCase) { c.build, c.probe = 60, 90 })
	join("no key", none, device.Pairs, Options{}, residual, func(c *joinCase) { c.build, c.probe = 40, 70 })
	join("rows by position", int4, device.Outer, parts, func(c *joinCase) { c.positioned = true })
	join("a hot key, handed out in parts", int4, device.Pairs, Options{Bits: 3, Region: 1 << 11}, func(c *joinCase) { c.build, c.probe, c.distribution = 150, 300, 2 })
	join("a hot key, one table, handed out in parts", int4, device.Outer, Options{OneTable: true, Region: 1 << 11}, func(c *joinCase) { c.build, c.probe, c.distribution = 150, 300, 2 })
	join("build sides of two chunks", int4, device.Semi, Options{}, func(c *joinCase) { c.build, c.probe = 5000, 900 })
	join("no build rows", int4, device.Outer, parts, func(c *joinCase) { c.build = 0 })
	join("no probe rows", int8, device.Pairs, parts, left, func(c *joinCase) { c.probe = 0 })
	add("filter", func() { r.checkFilter(4097) })
	add("partitions", func() { r.checkPartitions(4097, 4, 3) })
	add("partitions by two passes", func() { r.checkPartitions(4097, 8, 9) })
	columnartest.Set(t, set)
}
