package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// groupsCase is an aggregation of BenchmarkGroups.
type groupsCase struct {
	rows, groups, workers, sums int
	keys                        string // see keyColumns
	zipf                        float64
	hot                         bool // half of the rows are of one group
}

// BenchmarkGroups groups rows, and computes sums of an int8 column. It varies one
// thing at a time: the number of groups, of rows, of workers and of sums, the key,
// and how frequent the groups are. Then it groups the result of joins.
func BenchmarkGroups(b *testing.B) {
	usual := groupsCase{rows: 1 << 22, groups: 1 << 18, workers: 1, sums: 1, keys: "8"}
	run := func(name string, c groupsCase) {
		b.Run(name, func(b *testing.B) {
			relation := groupsRelation(c)
			benchAggregation(b, relation, groupsAggregate(relation, c.sums), c.workers)
		})
	}
	for _, workers := range []int{1, 16} {
		for log := 2; log <= 24; log++ {
			c := usual
			c.workers, c.groups, c.rows = workers, 1<<log, max(usual.rows, 1<<log)
			run(fmt.Sprintf("groups=2^%d/workers=%d", log, workers), c)
		}
		for log := 14; log <= 26; log += 2 {
			c := usual
			c.workers, c.rows = workers, 1<<log
			run(fmt.Sprintf("rows=2^%d/workers=%d", log, workers), c)
		}
	}
	for _, keys := range []string{"4", "8", "4,4", "16", "8,8", "8,8,8", "text8", "text16"} {
		for _, log := range []int{14, 16, 17, 20} {
			c := usual
			c.keys, c.groups = keys, 1<<log
			run(fmt.Sprintf("key=%s/groups=2^%d", keys, log), c)
		}
	}
	for sums := 0; sums <= 8; sums++ {
		for _, log := range []int{14, 16, 17, 20} {
			c := usual
			c.sums, c.groups = sums, 1<<log
			run(fmt.Sprintf("sums=%d/groups=2^%d", sums, log), c)
		}
	}
	for _, log := range []int{14, 16, 17, 20, 22} {
		c := usual
		c.groups, c.hot = 1<<log, true
		run(fmt.Sprintf("hot/groups=2^%d", log), c)
		c.hot, c.zipf = false, 1.1
		run(fmt.Sprintf("zipf=1.1/groups=2^%d", log), c)
	}
	benchJoinedGroups(b)
}

// benchJoinedGroups joins 4 M rows with those that have one group each, and groups the result
// by the join's key or by another column of these. The algorithm decides in which order the
// groups come: grouping by the key should not take longer than by the other column.
func benchJoinedGroups(b *testing.B) {
	for log := 14; log <= 22; log++ {
		c := groupsCase{rows: 1 << 22, groups: 1 << log, keys: "8"}
		fact := groupsRelation(c)
		order := rand.New(rand.NewPCG(1, 2)).Perm(c.groups)
		dimension := suite.Int64Relation(c.groups, 2, func(row, column int) uint64 {
			if column == 0 {
				return uint64(row) * sparse
			}
			return uint64(order[row]) * sparse
		})
		for _, algorithm := range joincore.Algorithms {
			for column, name := range []string{"key", "other"} {
				b.Run(fmt.Sprintf("join=%s/groups=2^%d/by=%s", algorithm, log, name), func(b *testing.B) {
					plan := &joincore.Plan{
						Inputs: []joincore.Input{{Columns: fact.Columns}, {Columns: dimension.Columns}},
						Root: &joincore.Aggregate{
							Child: &joincore.Join{
								Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
								Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
							},
							ID: 2, Keys: []joincore.Value{joincore.ColumnRef{Input: 1, Column: column}},
							Functions: []joincore.Function{{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Column: 1}}},
						},
					}
					benchGroups(b, plan, []*joincore.Relation{fact, dimension}, benchOptions(1, algorithm))
				})
			}
		}
	}
}

// keyColumns are the columns of keys, by name: integers of a width in bytes, or
// text.
var keyColumns = map[string][]joincore.Column{
	"4": words(4), "8": words(8), "4,4": words(4, 4), "16": words(16), "8,8": words(8, 8), "8,8,8": words(8, 8, 8),
	"text8": {{Kind: joincore.Varlena, Align: 4}}, "text16": {{Kind: joincore.Varlena, Align: 4}},
}

func words(widths ...int) (out []joincore.Column) {
	for _, w := range widths {
		out = append(out, joincore.Column{Kind: joincore.Fixed, Width: w, Align: min(w, 8)})
	}
	return out
}

var textWords = map[string]int{"text8": 1, "text16": 2}

// groupsRelation makes the rows of a case: the keys, then an int8.
func groupsRelation(c groupsCase) *joincore.Relation {
	r := rand.New(rand.NewPCG(7, 11))
	group := func() uint64 { return uint64(r.IntN(c.groups)) }
	if c.zipf > 0 {
		group = rand.NewZipf(r, c.zipf, 1, uint64(c.groups-1)).Uint64
	}
	of := make([]uint64, c.rows)
	for i := range of {
		if of[i] = group(); c.hot && r.IntN(2) == 0 {
			of[i] = 0
		}
	}
	columns := keyColumns[c.keys]
	relation := &joincore.Relation{Columns: append(append([]joincore.Column{}, columns...), words(8)...)}
	const segmentRows = 1 << 18
	for ; len(of) > 0; of = of[min(segmentRows, len(of)):] {
		part := of[:min(segmentRows, len(of))]
		s := joincore.Segment{Rows: len(part)}
		for i, column := range columns {
			s.Columns = append(s.Columns, keyVector(part, column, i, textWords[c.keys]))
		}
		var v joincore.Vector
		for i := range part {
			v.Values = binary.LittleEndian.AppendUint64(v.Values, uint64(i))
		}
		s.Columns = append(s.Columns, v)
		relation.Segments = append(relation.Segments, s)
	}
	return relation
}

// keyVector makes part i of the keys of rows in the given groups; texts have 8
// characters, 8 times more of them.
func keyVector(of []uint64, column joincore.Column, i, more int) joincore.Vector {
	var v joincore.Vector
	if column.Kind == joincore.Varlena {
		v.Values = make([]byte, 4)
	}
	for _, g := range of {
		x := (g + uint64(i)) * sparse
		switch {
		case column.Kind == joincore.Varlena:
			v.Heap = binary.LittleEndian.AppendUint32(v.Heap, uint32(4+8*more)<<2)
			v.Heap = fmt.Appendf(v.Heap, "%0*x", 8*more, uint32(x>>32))
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
		case column.Width == 4:
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(x>>32))
		default:
			v.Values = binary.LittleEndian.AppendUint64(v.Values, x)
			if column.Width == 16 {
				v.Values = binary.LittleEndian.AppendUint64(v.Values, 0)
			}
		}
	}
	return v
}

// groupsAggregate groups by all columns but the last, and adds up that one; further
// sums are of it plus a number.
func groupsAggregate(relation *joincore.Relation, sums int) *joincore.Aggregate {
	a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{{Kind: joincore.Count}}}
	last := len(relation.Columns) - 1
	for i := range last {
		a.Keys = append(a.Keys, joincore.ColumnRef{Column: i})
	}
	for i := range sums {
		arg := joincore.Value(joincore.ColumnRef{Column: last})
		if i > 0 {
			arg = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: arg, Right: joincore.Int(i)}
		}
		a.Functions = append(a.Functions, joincore.Function{Kind: joincore.Sum, Arg: arg})
	}
	return a
}
