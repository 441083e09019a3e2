//go:build cuda

package phj

import (
	"math/rand/v2"
	"testing"

	suite "gpujoin/testsupport/columnartest"
)

// One and two passes of each payload kind; matches of carried and gathered payload and
// with a match list; placed rows; the bypass; samples. Results are small because the
// emulated match writes through shared memory.
func TestSet(t *testing.T) {
	some := func(key int, o Options, build, probe []int) trial {
		return trial{rows: [2]int{900, 1300}, keys: 800, key: key, widths: [2][]int{build, probe}, options: o}
	}
	of := func(build, probe, keys int, o Options) trial {
		return trial{rows: [2]int{build, probe}, keys: keys, key: 4, widths: [2][]int{{4, 4}, {4, 4}}, options: o}
	}
	hot := func(key int, o Options, widths []int) trial {
		return trial{rows: [2]int{3000, 9000}, keys: 4000, key: key, widths: [2][]int{widths, widths}, options: o, hot: 0.6}
	}
	with := func(c trial, change func(*trial)) trial {
		change(&c)
		return c
	}
	om, um, placed := Options{Materialise: "om"}, Options{Materialise: "um"}, Options{Materialise: "place", Bits: 10}
	om10, um10 := Options{Materialise: "om", Bits: 10}, Options{Materialise: "um", Bits: 10}
	bypassed := Options{Materialise: "bypass"}
	trials := []struct {
		name string
		c    trial
	}{
		{"keys alone", some(4, om, nil, nil)},
		{"carried, one pass", some(4, om, []int{4}, []int{4})},
		{"carried, two passes", some(4, om10, []int{4, 4}, []int{4, 4})},
		{"carried, long rows", some(4, om10, []int{4, 4, 4, 4}, []int{4, 4, 4, 4, 4})},
		{"carried, keys of 8 bytes, one pass", some(8, om, []int{8}, []int{8})},
		{"carried, keys of 8 bytes, two passes", some(8, om10, []int{8, 8}, []int{8, 8})},
		{"carried as fields, one pass", some(4, om, []int{4, 4, 8}, []int{8, 4, 4})},
		{"carried as fields, two passes", some(4, om10, []int{16, 8, 8}, []int{16, 8, 8})},
		{"carried as fields, keys of 8 bytes", some(8, om10, []int{4, 4, 8}, []int{16, 8, 8})},
		{"carried as fields, keys of 8 bytes, odd words", some(8, om10, []int{1}, []int{8, 1})},
		{"keys alone and fields, keys of 8 bytes", some(8, om10, nil, []int{2, 1})},
		{"wide columns and keys alone", some(4, om10, []int{8, 8}, nil)},
		{"9 bytes beside the rests of hashes and keys alone", some(4, Options{Materialise: "om", Bits: 13}, nil, []int{8, 1})},
		{"a byte beside the rests of hashes", some(4, om10, []int{1}, []int{1})},
		{"5 bytes beside the rests of hashes", some(4, Options{Materialise: "om", Bits: 13}, []int{1, 1, 1, 1, 1}, []int{1, 4})},
		{"9 and 13 bytes beside the rests of hashes", some(4, Options{Materialise: "om", Bits: 13}, []int{1, 8}, []int{4, 1, 2, 2, 4})},
		{"13 columns of a byte beside the rests of hashes", some(4, Options{Materialise: "om", Bits: 12}, repeated(13, 1), repeated(13, 1))},
		{"a byte beside the rests of hashes, several partners", with(of(1500, 1500, 300, Options{Materialise: "om", Bits: 12}), func(c *trial) { c.widths = [2][]int{{1}, {4}} })},
		{"a byte beside the rests of hashes, more rows than expected", with(of(1000, 1000, 200, om10), func(c *trial) { c.widths, c.room = [2][]int{{1}, {2, 1, 2}}, 100 })},
		{"a byte beside the rests of hashes, without a key in the result", with(some(4, Options{Materialise: "om", Bits: 12}, []int{2, 1}, []int{1}), func(c *trial) { c.noKey = true })},
		{"one side carried as fields, one fetched", some(4, om10, []int{4}, []int{8})},
		{"one side carried, one fetched", some(4, om10, []int{4}, []int{16, 16, 4})},
		{"fetched, one pass", some(4, um, []int{4}, []int{8})},
		{"fetched, two passes", some(4, um10, []int{4, 4}, []int{8, 8})},
		{"fetched, keys of 8 bytes", some(8, um10, []int{8, 1}, []int{4})},
		{"row numbers", with(some(4, um10, []int{4}, []int{8}), func(c *trial) { c.rowIDs = true })},
		{"no key in the result", with(some(4, om, []int{4, 4}, []int{4}), func(c *trial) { c.noKey = true })},
		{"few match, listed", some(4, Options{Materialise: "um", Few: true}, []int{4, 4}, []int{4, 4})},
		{"few match, listed, keys of 8 bytes", some(8, Options{Materialise: "um", Few: true, Bits: 10}, []int{8, 8}, []int{8, 8})},
		{"placed", some(4, placed, []int{4, 4}, []int{4, 4})},
		{"placed, keys of 8 bytes", some(8, placed, []int{8, 8}, []int{8, 8})},
		{"hot keys go round", hot(4, bypassed, []int{4, 4})},
		{"hot keys go round, two passes", hot(4, Options{Materialise: "bypass", Bits: 11}, []int{4})},
		{"hot keys go round, keys of 8 bytes", hot(8, bypassed, []int{8, 8})},
		{"hot keys without room to go round", with(hot(4, bypassed, []int{4}), func(c *trial) { c.room = 1 })},
		{"what a filter leaves, one pass", some(4, Options{Materialise: "om", Bloom: bloomOn}, []int{4}, []int{8, 2})},
		{"what a filter leaves, keys of 8 bytes", some(8, Options{Materialise: "um", Bloom: bloomOn, Bits: 10}, []int{8}, []int{4, 4})},
		{"a sample decides", of(3000, 9000, 4000, Options{Sample: true})},
		{"more rows than expected", with(of(1000, 1000, 200, om), func(c *trial) { c.room = 100 })},
		{"more rows than expected, placed", with(of(1000, 1000, 200, placed), func(c *trial) { c.room = 100 })},
		{"several partners", of(1500, 1500, 300, om10)},
		{"build sides of several chunks", of(10000, 4, 2, om)},
		{"a partition of one key, fetched", of(300, 40, 1, um10)},
		{"2^16 partitions", some(4, Options{Materialise: "om", Bits: 16}, []int{4}, []int{4})},
		{"tiles that end with the rows", of(512, 8192, 8000, om)},
		{"tiles with a row more", of(8193, 8193, 8000, om10)},
		{"no build rows", of(0, 33, 9, om)},
		{"no probe rows", of(33, 0, 9, um10)},
	}
	b := newBed(t)
	var set []suite.Named
	for _, x := range trials {
		set = append(set, suite.Named{Name: x.name, Run: func(random *rand.Rand) {
			if err := b.check(x.c, random); err != nil {
				t.Errorf("%s, %v: %v", x.name, x.c, err)
			}
		}})
	}
	suite.Set(t, set)
}
