//go:build cuda

package mgj

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

func some(build, probe int, keyBytes int, widths [2][]int, keys func(*columnartest.Rig, int) uint64) columnartest.Case {
	return columnartest.Case{Build: build, Probe: probe, Keys: keys, KeyBytes: keyBytes, Widths: widths, Expect: -1}
}

// many returns the widths of n columns.
func many(n, bytes int) []int { return slices.Repeat([]int{bytes}, n) }

func evenRanges(build, probe int) [2]phj.Ranges {
	return [2]phj.Ranges{phj.Even(build), phj.Even(probe)}
}

var two = [2][]int{{4, 4}, {4, 4}}

// All strategies return every row once, for each layout, size and placement of rows.
func TestJoins(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}, {Ranges: evenRanges(1, 1), Blocks: 7}, {Ranges: evenRanges(3, 5)}, {Ranges: [2]phj.Ranges{{1, 2}, {3, 1, 2}}}, {NoOverlap: true}} {
			for _, place := range []placement{evenly, first, last, uneven} {
				for _, rows := range [][2]int{{0, 0}, {0, 33}, {33, 0}, {1, 1}, {700, 3000}, {20000, 30001}} {
					r.Inner(b.join(o, place, evenly), some(rows[0], rows[1], 4, two, columnartest.Spread(uint64(rows[0]+1))))
				}
				r.Inner(b.join(o, place, place), some(2000, 2000, 4, two, columnartest.Ascending(0, 1)))
				r.Inner(b.join(o, evenly, place), some(5000, 9000, 8, two, columnartest.Spread(5000)))
			}
		}
	})
}

// All payloads that kernels carry.
func TestPayloads(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, keyBytes := range []int{4, 8} {
			for _, widths := range [][2][]int{
				{}, {{4}, nil}, {nil, {4, 4}}, {{4}, {4, 4, 4}}, {{4, 4, 4, 4}, {4, 4, 4, 4}}, {{8}, {8, 8}}, {{8, 8, 8, 8}, {8}},
				{{1, 2}, {2, 1}}, {nil, {8, 1}}, {{8}, nil}, {many(9, 4), {4}}, {{4}, many(12, 4)}, {many(10, 4), many(17, 4)}, {{1, 2, 8, 16, 4, 2, 1, 8}, {16, 16, 16, 1}}, {many(33, 1), {2}}, {{16, 1, 4}, {8, 8, 4, 2}}, {{4, 8}, {16}}, {{4}, {4, 4, 4, 4, 4}}, {{4, 4}, {4, 4, 4, 4, 4, 4, 4}},
			} {
				for _, o := range []Options{{}, {Ranges: evenRanges(2, 3)}} {
					r.Inner(b.join(o, evenly, evenly), some(6000, 9000, keyBytes, widths, columnartest.Spread(6000)))
				}
			}
		}
		for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}} {
			for _, widths := range [][2][]int{{many(9, 4), many(3, 8)}, {{16, 8, 1}, many(20, 2)}} {
				r.Inner(b.join(o, uneven, last), some(5000, 7001, 4, widths, columnartest.Spread(5000)))
				few := some(1200, 3000, 8, widths, columnartest.Skewed(1200))
				few.Expect = 10
				r.Inner(b.join(o, evenly, uneven), few)
			}
		}
		noKey := some(6000, 9000, 4, two, columnartest.Spread(6000))
		noKey.NoKey = true
		r.Inner(b.join(Options{}, evenly, evenly), noKey)
	})
}

// Payload of columns and fields and packed payload, of columns that begin anywhere, in several
// ranges.
func TestPayloadsAnywhere(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		b.shift = true
		for _, keyBytes := range []int{4, 8} {
			for _, widths := range [][2][]int{two, {{1, 2}, {4}}, {{8, 1}, {4, 4, 4, 1}}, {{16, 8, 1}, many(20, 2)}, {many(9, 4), {8, 4}}} {
				for _, o := range []Options{{Ranges: evenRanges(2, 3)}, {Ranges: [2]phj.Ranges{{1, 2}, {2, 3, 2, 1}}}, {Strategy: Replicate}} {
					r.Inner(b.join(o, uneven, evenly), some(5000, 7001, keyBytes, widths, columnartest.Spread(5000)))
				}
			}
		}
	})
}

// As many GPUs as a join may have.
func TestMostGPUs(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			r, b := columnartest.New(t, 1<<28), newBed(t, nil, slices.Repeat([]int{0}, phj.MaxDevices)...)
			b.way = way
			for _, o := range []Options{{}, {Ranges: evenRanges(1, 3)}, {Ranges: evenRanges(2, 5)}, {Strategy: Replicate}} {
				for _, widths := range [][2][]int{two, {{1, 2}, {4}}, {many(9, 4), {8, 4}}} {
					r.Inner(b.join(o, uneven, evenly), some(20000, 30001, 4, widths, columnartest.Spread(20000)))
				}
			}
		})
	}
}

// Row ids number the rows of all devices.
func TestRowIDs(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, keyBytes := range []int{4, 8} {
			for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}} {
				for _, place := range []placement{evenly, first, last, uneven} {
					c := some(3000, 7001, keyBytes, [2][]int{{4}, {8, 1}}, columnartest.Spread(2000))
					c.RowIDs = true
					r.Inner(b.join(o, place, evenly), c)
					c.Expect, c.NoKey = 10, true
					r.Inner(b.join(o, evenly, place), c)
				}
			}
		}
	})
}

// Rows of a side that is much smaller than the other one are copied, which sends fewer bytes, and
// as many as the assignment says. The result is the same.
func TestSmallSidesAreCopiedBetweenGPUs(t *testing.T) {
	onGroups(t, func(r *columnartest.Rig, b *bed) {
		for _, rows := range [][2]int{{100, 30001}, {30001, 100}} {
			for _, keyBytes := range []int{4, 8} {
				for _, widths := range [][2][]int{two, {{1, 2}, {4}}, {many(9, 4), {8, 4}}} {
					c := some(rows[0], rows[1], keyBytes, widths, columnartest.Spread(100))
					for _, build := range []placement{evenly, uneven} {
						sent := map[bool]int64{}
						for _, without := range []bool{false, true} {
							r.Inner(b.join(Options{NoCopies: without, Ranges: evenRanges(1, 1)}, build, evenly), c)
							sent[without] = b.report.Bytes
							if copies := b.report.Copies; (copies > 0) != (len(b.members) > 1 && !without) || b.report.Bytes != b.report.Assigned {
								t.Errorf("%d x %d rows, no copies: %v: %d partitions are copied, %d bytes sent of %d", rows[0], rows[1], without, copies, b.report.Bytes, b.report.Assigned)
							}
						}
						if len(b.members) > 1 && sent[false] >= sent[true] {
							t.Errorf("%d x %d rows: %d bytes are sent with copies, %d without", rows[0], rows[1], sent[false], sent[true])
						}
					}
					r.Inner(b.join(Options{}, evenly, uneven), c)
				}
			}
		}
	})
}

// A filter of the build keys of all GPUs drops no row that has a match.
func TestFilter(t *testing.T) {
	onGroups(t, func(r *columnartest.Rig, b *bed) {
		for _, strategy := range []Strategy{Exchange, Replicate, Alone} {
			o := Options{Strategy: strategy, Bloom: true}
			if strategy == Exchange {
				o.Ranges = evenRanges(2, 3)
			}
			join := b.join(o, uneven, evenly)
			filtered := func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
				out, report, err := join(ctx, d, s, a, j)
				if err == nil && strings.HasSuffix(report.Algorithm, "+bloom") == j.RowIDs {
					t.Errorf("%s of row ids: %v", report.Algorithm, j.RowIDs)
				}
				return out, report, err
			}
			for _, keyBytes := range []int{4, 8} {
				for _, widths := range [][2][]int{two, {{4}, {8, 1}}, {{2, 1}, {4, 1}}, {{4}, many(12, 4)}} {
					r.Inner(filtered, some(900, 20001, keyBytes, widths, columnartest.Spread(9000)))
				}
				r.Inner(filtered, some(0, 3000, keyBytes, two, columnartest.Spread(10)))
				r.Inner(filtered, some(3000, 5000, keyBytes, two, columnartest.Skewed(3000)))
			}
			ids := some(900, 9000, 4, two, columnartest.Spread(9000))
			ids.RowIDs = true
			r.Inner(filtered, ids)
		}
	})
}

// Keys that repeat on both sides, one key alone, and a result larger than expected.
func TestSkew(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, c := range []columnartest.Case{
			some(1000, 2000, 4, two, columnartest.Skewed(1000)), some(60, 150, 4, two, columnartest.Spread(1)),
			some(30, 900, 4, two, columnartest.Spread(3)), some(2000, 2000, 8, two, columnartest.Spread(500)),
		} {
			for _, o := range []Options{{}, {Strategy: Replicate}} {
				r.Inner(b.join(o, evenly, uneven), c)
				few := c
				few.Expect = 10
				r.Inner(b.join(o, uneven, evenly), few)
			}
		}
	})
}

// A join that fails leaves the group as it was, also after rows have been sent.
func TestErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	const equal = 6000 // rows of one key on each side and GPU: the result does not fit
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, c := range []struct {
			ctx      context.Context
			rows     int64
			expected int64
			change   func([]columnar.Join)
			want     error
		}{
			{context.Background(), 1000, 10, tooMany, joincore.ErrUnsupported},
			{context.Background(), 1000, memberBytes, nil, joincore.ErrBudget},
			{context.Background(), equal, 10, nil, joincore.ErrBudget},
			{cancelled, 1000, 10, nil, context.Canceled},
		} {
			for _, s := range []Strategy{Exchange, Replicate, Alone} {
				if err := b.attempt(c.ctx, Options{Strategy: s}, c.rows, c.expected, c.change); !errors.Is(err, c.want) {
					r.Errorf("%v: returned %v in place of %v", s, err, c.want)
				}
				r.Inner(b.join(Options{Strategy: s}, evenly, evenly), some(3000, 5000, 4, two, columnartest.Spread(3000)))
			}
		}
	})
}

// tooMany gives the build side more columns than can be packed.
func tooMany(parts []columnar.Join) {
	for i := range parts {
		key := parts[i].Build.Key
		parts[i].Build.Payload = slices.Repeat([]columnar.Column{key}, 200)
	}
}

// attempt joins the given rows of each GPU, whose keys are all equal. expected is the number
// of result rows that each GPU is told to expect.
func (b *bed) attempt(ctx context.Context, o Options, rows, expected int64, change func([]columnar.Join)) error {
	parts := make([]columnar.Join, len(b.members))
	for i, m := range b.members {
		m.Arena.Rewind(0)
		at, err := m.Arena.Take(4 * rows)
		if err != nil {
			return err
		}
		if err := m.Stream.Memset(at, 0, 4*rows); err != nil {
			return err
		}
		side := columnar.Side{Rows: rows, Key: columnar.Column{Addr: at, Bytes: 4}}
		parts[i] = columnar.Join{Build: side, Probe: side, OutputRows: expected}
	}
	if change != nil {
		change(parts)
	}
	_, _, err := b.group.Join(ctx, parts, b.options(o))
	return err
}
