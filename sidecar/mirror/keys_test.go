package mirror

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"gpujoin/sidecar/mirror/encode"
)

// A key of several columns, one of variable length, is found like any other.
func TestKeyOfSeveralColumns(t *testing.T) {
	table := testTable(1)
	table.Key = []int{1, 2}
	table.Columns[1].NotNull, table.Columns[2].NotNull = true, true
	s := New(&heap{size: 4096}, Options{})
	l, err := s.Begin(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Join(0); err != nil {
		t.Fatal(err)
	}
	type key struct {
		text   string
		number int32
	}
	record := func(id int64, k key) record { return record{id: id, text: &k.text, number: &k.number} }
	keyRow := func(k key) (out encode.Row) {
		if err := (encode.Columns{testColumns[1], testColumns[2]}).Row(&out, record(0, k).tuple(false)); err != nil {
			t.Fatal(err)
		}
		return out
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	random := func() key { return key{fmt.Sprintf("%*d", rnd.IntN(8), rnd.IntN(9)), rnd.Int32N(4)} }
	m := &stream{t: t, s: s}
	rows := map[key]int64{}
	for step := range int64(4000) {
		k, to := random(), random()
		_, there := rows[k]
		_, taken := rows[to]
		c := Change{Table: 1}
		switch n := rnd.IntN(10); {
		case !there:
			c.Op, c.New = Insert, record(step, k).row(false)
			rows[k] = step
		case n < 3:
			c.Op, c.Key = Delete, keyRow(k)
			delete(rows, k)
		case n < 6 && !taken:
			c.Op, c.New, c.Key = Update, record(step, to).row(false), keyRow(k)
			delete(rows, k)
			rows[to] = step
		case n < 8: // the key is sent, and has not changed
			c.Op, c.New, c.Key = Update, record(step, k).row(false), keyRow(k)
			rows[k] = step
		default:
			c.Op, c.New = Update, record(step, k).row(false)
			rows[k] = step
		}
		m.changes(c)
		if step%50 == 0 {
			s.Step()
		}
	}
	var want []string
	for k, id := range rows {
		want = append(want, record(id, k).String())
	}
	sort.Strings(want)
	p := s.Pin()
	defer p.Close()
	relation, err := p.Relation(1, allColumns)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readRows(relation, allColumns); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Segments of their full size: inserts, updates and deletions of a table of several, which is rewritten
// meanwhile, and a pin of a moment in between.
func TestTableOfFullSegments(t *testing.T) {
	const n = 150_000
	m := ready(t, &heap{size: benchExtent}, recordsOf(0, n, 0)...)
	versions := make([]int64, n) // -1: deleted
	rnd := rand.New(rand.NewPCG(7, 7))
	changes := func(count int) {
		var all []Change
		for range count {
			id := rnd.Int64N(n)
			switch versions[id] {
			case -1:
				versions[id] = 1
				all = append(all, insertOf(1, rec(id, 1)))
			default:
				if rnd.IntN(4) > 0 {
					versions[id] = -1
					all = append(all, deleteOf(1, id))
				} else {
					versions[id]++
					all = append(all, updateOf(1, rec(id, versions[id])))
				}
			}
		}
		m.changes(all...)
	}
	records := func() (out []record) {
		for id, version := range versions {
			if version >= 0 {
				out = append(out, rec(int64(id), version))
			}
		}
		return out
	}
	steps := 0
	var p *Pin
	var between []record
	for round := range 20 {
		changes(8000)
		if round == 14 {
			p, between = m.s.Pin(), records()
		}
		for m.s.Step() {
			steps++
		}
	}
	if steps == 0 {
		t.Error("nothing was rewritten")
	}
	wantRows(t, p, 1, between...)
	p.Close()
	for m.s.Step() {
	}
	pinned(t, m.s, records()...)
	if r := m.s.tables[1].rows; r.published.rows != int64(len(records())) {
		t.Errorf("%d rows are counted, of %d", r.published.rows, len(records()))
	}
}
