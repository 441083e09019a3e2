package suite

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Trees compares random trees of up to five inputs with the oracle, with random
// decisions for each join.
func Trees(t *testing.T, s Subject) {
	rounds := 1500 / max(s.Thin, 1)
	if testing.Short() || Race {
		rounds = 100
	}
	for seed := s.Offset; seed < s.Offset+rounds; seed++ {
		of := kinds
		if seed%2 == 0 {
			of = kinds[:1] // long pipelines of inner joins
		}
		plan, inputs := randomTree(seed, 2+int(seed%4), of)
		r := rand.New(rand.NewPCG(seed, 10))
		opt := exec.Options{
			Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
				if r.IntN(3) == 0 {
					return d
				}
				return costmodel.Decision{Algorithm: pick(r, s.Algorithms), BuildLeft: r.IntN(2) == 0, Bits: 1 + r.IntN(3)}
			},
			Device: device.Options{
				Streams: 1 + r.IntN(3), ChunkRows: []int{3, 16, 4096}[r.IntN(3)], EmitRows: pick(r, emits), Collide: r.IntN(2) == 0,
			},
		}
		Check(t, fmt.Sprintf("seed %d", seed), s.Provider, plan, inputs, 1+r.IntN(40), opt)
	}
}

// phaseName matches the phase names that EXPLAIN can show: a few plain words.
var phaseName = regexp.MustCompile(`^[a-z][a-z ,]{1,30}$`)

// bushyTree joins the results of two joins: of 40 and 30 rows, and of 20 and 10.
func bushyTree() (*joincore.Plan, []*joincore.Relation) {
	r := rand.New(rand.NewPCG(1, 1))
	plan := &joincore.Plan{}
	var inputs []*joincore.Relation
	for i, n := range []int{40, 30, 20, 10} {
		rel := generate(r, treeKeys, n, 7, unique)
		inputs = append(inputs, rel)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: rel.Columns})
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: 0})
	}
	scan := func(i int) joincore.Node { return &joincore.Scan{Input: i} }
	join := func(left, right joincore.Node, a, b int, rows float64) joincore.Node {
		return &joincore.Join{Kind: joincore.Inner, Left: left, Right: right, Rows: rows, Keys: []joincore.KeyPair{
			{Left: joincore.ColumnRef{Input: a}, Right: joincore.ColumnRef{Input: b}, Class: joincore.KeyInt},
		}}
	}
	plan.Root = join(join(scan(0), scan(1), 0, 1, 30), join(scan(2), scan(3), 2, 3, 10), 1, 2, 10)
	return plan, inputs
}

// JoinStats: the statistics of joins are in the plan's order, whatever the order of
// execution.
func JoinStats(t *testing.T, s Subject) {
	plan, inputs := bushyTree()
	for _, a := range s.Algorithms {
		var stats joincore.Stats
		opt := exec.Options{Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
			d.Algorithm, d.Bits = a, 2
			return d
		}}
		sink := NewCollector(plan, 100)
		if err := Run(t.Context(), s.Provider, plan, inputs, &Arena{}, sink, opt, &stats); err != nil {
			t.Fatal(err)
		}
		type rows struct{ build, probe, out int64 }
		want, got := []rows{{30, 40, 30}, {10, 20, 10}, {10, 30, 10}}, []rows(nil)
		for _, j := range stats.Joins {
			got = append(got, rows{j.BuildRows, j.ProbeRows, j.RowsOut})
			if j.BuildLeft {
				t.Errorf("%v: the larger side was built", a)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: build, probe and result rows %v, want %v", a, got, want)
		}
		if stats.Provider != s.Provider.Name() || stats.RowsOut != 10 {
			t.Errorf("%v: provider %q, %d rows", a, stats.Provider, stats.RowsOut)
		}
		for i, j := range stats.Joins { // payload is not moved if only row ids are kept
			if !executedAs(j.Algorithm, a) {
				t.Errorf("%v: join %d was executed by %s", a, i, j.Algorithm)
			}
			seen := map[string]bool{}
			for _, p := range j.Phases {
				if !phaseName.MatchString(p.Name) || seen[p.Name] || p.Actual < 0 || p.Predicted < 0 {
					t.Errorf("%v: join %d, phase %+v", a, i, p)
				}
				seen[p.Name] = true
			}
			if len(j.Phases) < 2 {
				t.Errorf("%v: join %d has phases %v", a, i, j.Phases)
			}
		}
	}
}

// executedAs reports whether a join that was to use an algorithm may report
// this name: row ids may replace payload, and a provider may have its own join
// for row ids.
func executedAs(name string, a joincore.Algorithm) bool {
	switch name {
	case a.String(), a.UM().String():
		return true
	case "phj-rowid":
		return a.UM() == joincore.PHJUM
	case "npj-rowid":
		return a == joincore.NPJ
	}
	return a.Executed(name)
}
