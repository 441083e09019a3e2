package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/device/separate"
	"gpujoin/joincore/run"
)

// config is one cell of the matrix.
type config struct {
	provider    device.Provider
	algorithm   joincore.Algorithm
	buildLeft   bool
	kind        joincore.Kind
	keys        keyType
	dist        distribution
	left, right int // rows
	segment     int // rows
	chunk       int // rows: the tile of every vector operation
	batch       int // rows
	bits        int
	streams     int
	residual    bool
	seed        uint64
}

func (c config) String() string {
	return fmt.Sprintf("%s/%v/build-left=%v/kind=%d/%s/%s/%dx%d/segment=%d/chunk=%d/batch=%d/bits=%d/streams=%d/residual=%v/collide=%v/seed=%d",
		c.provider.Name(), c.algorithm, c.buildLeft, c.kind, c.keys.name, c.dist.name, c.left, c.right,
		c.segment, c.chunk, c.batch, c.bits, c.streams, c.residual, c.seed%2 == 0, c.seed)
}

// supports says whether a cell means anything.
func supports(c config) bool {
	return !(c.keys.name == "none" && c.left*c.right > 1<<16) // a cross join
}

func (c config) options() run.Options {
	return run.Options{
		Decide: func(_ int, d choose.Decision) choose.Decision {
			return choose.Decision{Algorithm: c.algorithm, BuildLeft: c.buildLeft, Bits: c.bits}
		},
		Device: device.Options{Streams: c.streams, ChunkRows: c.chunk, Seed: c.seed, Collide: c.seed%2 == 0},
	}
}

// plan joins two inputs and returns all visible columns.
func (c config) plan() (*joincore.Plan, []*joincore.Relation) {
	r := rand.New(rand.NewPCG(c.seed, 1))
	inputs := []*joincore.Relation{
		generate(r, c.keys.left, c.left, c.segment, c.dist),
		generate(r, c.keys.right, c.right, c.segment, c.dist),
	}
	join := &joincore.Join{Kind: c.kind, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}}
	for i, class := range c.keys.class {
		join.Keys = append(join.Keys, joincore.KeyPair{
			Left: joincore.ColumnRef{Input: 0, Column: i}, Right: joincore.ColumnRef{Input: 1, Column: i}, Class: class,
		})
	}
	if c.residual {
		join.Residual = &joincore.Or{Args: []joincore.Expr{
			&joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Input: 0, Column: len(c.keys.left)}, Right: joincore.ColumnRef{Input: 1, Column: len(c.keys.right) + 3}},
			&joincore.Not{Arg: &joincore.IsNull{Column: joincore.ColumnRef{Input: 1, Column: len(c.keys.right) + 1}}},
		}}
	}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}},
		Root:   join,
	}
	for i, rel := range inputs {
		if i == 1 && (c.kind == joincore.Semi || c.kind == joincore.Anti) {
			break
		}
		for j := range rel.Columns {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: j})
		}
	}
	return plan, inputs
}

// check runs a plan and compares it with the oracle.
func check(t *testing.T, name string, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation, batch int, opt run.Options) {
	t.Helper()
	want, err := joincore.Oracle(plan, inputs)
	if err != nil {
		t.Fatal(err)
	}
	mem := &arena{}
	sink := &collect{capacity: batch, heap: 256 + 64*batch}
	for _, c := range plan.Output {
		sink.columns = append(sink.columns, plan.Inputs[c.Input].Columns[c.Column])
	}
	var stats joincore.Stats
	if err := run.Run(context.Background(), p, plan, inputs, mem, sink, opt, &stats); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := difference(want, sink.rows); diff != "" {
		t.Fatalf("%s\n%s%s", name, diff, describe(inputs))
	}
	if mem.inUse != 0 || len(mem.blocks) != 0 {
		t.Fatalf("%s: %d bytes not freed", name, mem.inUse)
	}
	if sink.open != 0 {
		t.Fatalf("%s: %d batches not given back", name, sink.open)
	}
	if stats.RowsOut != int64(sink.n) {
		t.Fatalf("%s: %d rows counted, %d emitted", name, stats.RowsOut, sink.n)
	}
}

func difference(want, got joincore.ResultRows) string {
	var b strings.Builder
	lines := 0
	for _, side := range []struct {
		sign      string
		rows, not joincore.ResultRows
	}{{"missing", want, got}, {"extra", got, want}} {
		for row, n := range side.rows {
			if n > side.not[row] && lines < 20 {
				lines++
				fmt.Fprintf(&b, "%s %d of %x\n", side.sign, n-side.not[row], row)
			}
		}
	}
	return b.String()
}

func describe(inputs []*joincore.Relation) string {
	var b strings.Builder
	for i, r := range inputs {
		if r.Rows() > 40 {
			continue
		}
		for _, s := range r.Segments {
			for row := range s.Rows {
				fmt.Fprintf(&b, "input %d row %d:", i, row)
				for j := range r.Columns {
					value, null := joincore.ValueAt(r.Columns[j], &s.Columns[j], row)
					if null {
						b.WriteString(" NULL")
					} else {
						fmt.Fprintf(&b, " %x", value)
					}
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

var (
	algorithms = []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.PHJOM}
	kinds      = []joincore.Kind{joincore.Inner, joincore.Left, joincore.Right, joincore.Full, joincore.Semi, joincore.Anti}
	sizes      = []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 200}
	batches    = []int{1, 2, 3, 1023}
	providers  = []device.Provider{cpu.New(), &separate.Provider{Inner: cpu.New()}}
)

// sampled leaves out all but one in n cases of a short test, and more where
// the race detector makes each of them slow.
func sampled(seed uint64, n uint64) bool {
	if raceDetector {
		n *= 4
	}
	return (testing.Short() || raceDetector) && seed%n != 0
}

// TestMatrix compares algorithms x build sides x kinds x key types x
// distributions with the oracle; sizes, tiles, batches and the rest are drawn
// by the seed, so that every pair of values meets often.
func TestMatrix(t *testing.T) {
	seed := uint64(0)
	for _, p := range providers {
		for _, keys := range keyTypes {
			t.Run(p.Name()+"/"+keys.name, func(t *testing.T) {
				for _, dist := range distributions {
					for _, a := range algorithms {
						for _, kind := range kinds {
							for _, buildLeft := range []bool{false, true} {
								seed++
								r := rand.New(rand.NewPCG(seed, 2))
								c := config{
									provider: p, algorithm: a, buildLeft: buildLeft, kind: kind, keys: keys, dist: dist,
									left: sizes[r.IntN(len(sizes))], right: sizes[r.IntN(len(sizes))],
									segment: 1 + r.IntN(120), chunk: []int{1, 7, 32, 64, 4096}[r.IntN(5)],
									batch: batches[r.IntN(len(batches))], bits: 1 + r.IntN(4),
									streams: 1 + r.IntN(3), residual: r.IntN(3) == 0, seed: seed,
								}
								if c.chunk < 32 {
									c.batch = min(c.batch, 3) // a batch is copied with every chunk
								}
								if !supports(c) || sampled(seed, 7) {
									continue
								}
								plan, inputs := c.plan()
								check(t, c.String(), p, plan, inputs, c.batch, c.options())
							}
						}
					}
				}
			})
		}
	}
}

// TestSizes runs every pair of sizes, around the tile of 32 rows.
func TestSizes(t *testing.T) {
	seed := uint64(1 << 20)
	for _, p := range providers {
		for _, a := range algorithms {
			t.Run(fmt.Sprintf("%s/%v", p.Name(), a), func(t *testing.T) {
				for _, left := range sizes {
					for _, right := range sizes {
						for _, kind := range kinds {
							seed++
							if sampled(seed, 7) {
								continue
							}
							c := config{
								provider: p, algorithm: a, buildLeft: seed%2 == 0, kind: kind, keys: keyTypes[0],
								dist: distributions[seed%5], left: left, right: right, segment: 40, chunk: 32,
								batch: batches[seed%4], bits: 2, streams: 2, seed: seed,
							}
							plan, inputs := c.plan()
							check(t, c.String(), p, plan, inputs, c.batch, c.options())
						}
					}
				}
			})
		}
	}
}

// TestTile runs sizes around the tile that is used outside of tests.
func TestTile(t *testing.T) {
	seed := uint64(1 << 21)
	for _, left := range []int{4095, 4097, 8193} {
		for _, a := range algorithms {
			for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full, joincore.Anti} {
				for _, buildLeft := range []bool{false, true} {
					seed++
					if sampled(seed, 5) {
						continue
					}
					c := config{
						provider: providers[0], algorithm: a, buildLeft: buildLeft, kind: kind, keys: keyTypes[0],
						dist: distributions[seed%5], left: left, right: 20, segment: 8192, batch: 1023, bits: 2, streams: 2, seed: seed,
					}
					plan, inputs := c.plan()
					check(t, c.String(), c.provider, plan, inputs, c.batch, c.options())
				}
			}
		}
	}
}
