package textcodes_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// limit is memory of which there is so much.
type limit struct {
	mu    sync.Mutex
	bytes int64
	used  int64
}

func (l *limit) Alloc(n int64) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used+n > l.bytes {
		return nil, joincore.ErrBudget
	}
	l.used += n
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xa5
	}
	return b, nil
}

func (l *limit) Free(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= int64(cap(b))
	for i := range b {
		b[i] = 0x5a // whoever still reads it finds nonsense
	}
}

// naming gives each text of the inputs a content, the same for the same memory, and has what
// is below check that contents of codes are always the same codes.
type naming struct {
	*textcodes.Provider
	memo  *textcodes.Memo
	mu    sync.Mutex
	known map[*byte]joincore.Vector
}

func (n *naming) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	inputs = slices.Clone(inputs)
	for i, r := range inputs {
		inputs[i] = &joincore.Relation{Columns: r.Columns}
		for _, s := range r.Segments {
			s.Columns = slices.Clone(s.Columns)
			for j := range s.Columns {
				n.name(&s.Columns[j])
			}
			inputs[i].Segments = append(inputs[i].Segments, s)
		}
	}
	return n.Provider.Execute(ctx, plan, inputs, mem, sink, opt, stats)
}

func (n *naming) name(v *joincore.Vector) {
	if len(v.Values) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[&v.Values[0]]
	if !ok {
		known = *v
		known.Content = uint64(len(n.known) + 1)
		n.known[&v.Values[0]] = known
	}
	if len(known.Values) == len(v.Values) && len(known.Heap) == len(v.Heap) && len(known.Validity) == len(v.Validity) {
		v.Content = known.Content
	}
}

// TestSuiteWithMemo runs the suite over texts with contents, with enough memory for their codes
// and with little.
func TestSuiteWithMemo(t *testing.T) {
	for _, bytes := range []int64{64 << 20, 200 << 10, 0} {
		memory := &limit{bytes: bytes}
		gone := 0
		memo := textcodes.NewMemo(joincore.NewRoot(memory), func(contents []uint64) {
			for _, c := range contents {
				if c < textcodes.Derived {
					t.Errorf("content %d is gone", c)
				}
				gone++
			}
		})
		p := &naming{Provider: textcodes.New(words{&bulk.Provider{Inner: cpu.New()}}).With(memo), memo: memo, known: map[*byte]joincore.Vector{}}
		s := suite.Subject{Provider: p, Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM}, Thin: 6}
		suite.Aggregates(t, s)
		suite.AggregateTrees(t, s)
		suite.MadeTexts(t, s)
		if bytes > 1<<20 && memory.used == 0 {
			t.Error("no code is kept")
		}
		var all []uint64
		for c := range len(p.known) {
			all = append(all, uint64(c+1))
		}
		memo.Drop(all)
		if memory.used != 0 {
			t.Errorf("%d bytes stay of what is gone, of %d", memory.used, bytes)
		}
	}
}

// TestMemo: codes are computed once, also if a part of the column is new, and are not read where
// other texts are compared with them.
func TestMemo(t *testing.T) {
	memory := &limit{bytes: 64 << 20}
	memo := textcodes.NewMemo(joincore.NewRoot(memory), func([]uint64) {})
	p := &naming{Provider: textcodes.New(words{&bulk.Provider{Inner: cpu.New()}}).With(memo), memo: memo, known: map[*byte]joincore.Vector{}}
	in := manyTexts([]int{5000, 300, 4001}, 200, 30)
	of := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: in.Columns}},
		Root: &joincore.Aggregate{
			Child: &joincore.Filter{Child: &joincore.Scan{}, Predicate: &joincore.Compare{Op: joincore.NotEqual, Left: of(0, 0), Right: &joincore.Text{Bytes: []byte("é5")}}},
			ID:    1, Keys: []joincore.Value{of(0, 0)}, Functions: []joincore.Function{{Kind: joincore.Count}},
		},
		Output: []joincore.ColumnRef{of(1, 0), of(1, 1)},
	}
	suite.Check(t, "first", p, plan, []*joincore.Relation{in}, 7, exec.Options{})
	kept := memory.used
	if kept < 4*9301 {
		t.Fatalf("%d bytes are kept", kept)
	}
	suite.Check(t, "again", p, plan, []*joincore.Relation{in}, 7, exec.Options{})
	if memory.used != kept {
		t.Errorf("%d bytes, and %d before", memory.used, kept)
	}
	// More rows, with other values.
	more := manyTexts([]int{100, 2000}, 900, 30)
	in.Segments = append(in.Segments, more.Segments[1])
	suite.Check(t, "more", p, plan, []*joincore.Relation{in}, 7, exec.Options{})
	if grown := memory.used - kept; grown < 4*2000 || grown > 4*2000+256<<10 {
		t.Errorf("%d bytes more", grown)
	}
	memo.Drop([]uint64{1})
	suite.Check(t, "after one is gone", p, plan, []*joincore.Relation{in}, 7, exec.Options{})
}

// TestMemoOfConditions: truth values are kept by the condition, its constants and parameters, and
// by the contents of its columns.
func TestMemoOfConditions(t *testing.T) {
	memory := &limit{bytes: 64 << 20}
	memo := textcodes.NewMemo(joincore.NewRoot(memory), func([]uint64) {})
	p := &naming{Provider: textcodes.New(words{&bulk.Provider{Inner: cpu.New()}}).With(memo), known: map[*byte]joincore.Vector{}}
	in := manyTexts([]int{3000, 300, 1001}, 200, 30)
	other := manyTexts([]int{2000}, 100, 30)
	for i := range in.Segments { // a second text, and a number
		s := &in.Segments[i]
		s.Columns = append(s.Columns, manyTexts([]int{s.Rows}, 90, 12).Segments[0].Columns[0])
	}
	in.Columns = append(in.Columns, in.Columns[0])
	of := func(column int) joincore.ColumnRef { return joincore.ColumnRef{Column: column} }
	like := func(column int, pattern string) joincore.Expr {
		return &joincore.Like{Arg: of(column), Pattern: []byte(pattern), Encoding: joincore.UTF8}
	}
	first := func(column int) joincore.Value {
		return &joincore.Substring{Arg: of(column), From: 1, For: 3, Characters: joincore.UTF8}
	}
	var kept []int64
	for name, conditions := range map[string][]joincore.Expr{
		"patterns": {like(0, "%1"), like(0, "%2%"), like(2, "%1"), like(0, "%1%")},
		"lists": {
			&joincore.In{Arg: of(0), Texts: [][]byte{[]byte("é1"), []byte("é2")}}, &joincore.In{Arg: of(0), Texts: [][]byte{[]byte("é1é2")}},
			&joincore.In{Arg: of(2), Texts: [][]byte{[]byte("é1"), []byte("é2")}},
		},
		"two columns": {
			&joincore.Or{Args: []joincore.Expr{like(0, "%1"), like(2, "%7")}}, &joincore.Or{Args: []joincore.Expr{like(2, "%1"), like(0, "%7")}},
			&joincore.Compare{Op: joincore.Less, Left: first(0), Right: first(2)}, &joincore.Compare{Op: joincore.Less, Left: first(2), Right: first(0)},
		},
		"a parameter": {&joincore.And{Args: []joincore.Expr{
			like(0, "%1%"), &joincore.Compare{Op: joincore.Less, Left: of(1), Right: joincore.ParameterIndex(0)},
		}}},
	} {
		for range 3 {
			for _, e := range conditions {
				for parameter := range int64(3) {
					plan := &joincore.Plan{
						Inputs: []joincore.Input{{Columns: in.Columns}}, Output: []joincore.ColumnRef{of(1), of(1)},
						Root:       &joincore.Filter{Child: &joincore.Scan{}, Predicate: e},
						Parameters: []joincore.Parameter{{Int: 1 + parameter}},
					}
					suite.Check(t, name, p, plan, []*joincore.Relation{in}, 7, exec.Options{})
				}
			}
			kept = append(kept, memory.used)
		}
		if n := len(kept); kept[n-1] != kept[n-3] || kept[n-1] == 0 {
			t.Errorf("%s: %d bytes after the first round, %d after the last", name, kept[n-3], kept[n-1])
		}
	}
	narrow := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: other.Columns}}, Output: []joincore.ColumnRef{of(1)},
		Root: &joincore.Filter{Child: &joincore.Scan{}, Predicate: like(0, "%1")},
	}
	suite.Check(t, "another table", p, narrow, []*joincore.Relation{other}, 7, exec.Options{})
	var all []uint64
	for c := range len(p.known) {
		all = append(all, uint64(c+1))
	}
	if memo.Drop(all); memory.used != 0 {
		t.Errorf("%d bytes stay of what is gone", memory.used)
	}
}
