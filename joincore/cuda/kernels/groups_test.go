package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/program"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// TestProgramsOnTheHost runs what package program compiles: random conditions over
// pairs of rows, and random aggregates with tables of all sizes.
func TestProgramsOnTheHost(t *testing.T) {
	binaryOf := buildForHost(t, "groups")
	bed := &programBed{t: t, r: rand.New(rand.NewPCG(7, 7))}
	bed.number(bed.r.Uint64()) // the hash's seed
	counted := len(bed.in)
	bed.number(0)
	for seed := range uint64(3000) {
		bed.condition(seed)
	}
	for seed := range uint64(5000) {
		plan, inputs := suite.RandomIntegers(seed, true)
		bed.aggregate(seed, plan, inputs)
	}
	for seed := range uint64(200) {
		plan, inputs := groupsOfWideKeys(seed)
		bed.aggregate(seed, plan, inputs)
	}
	binary.LittleEndian.PutUint64(bed.in[counted:], uint64(len(bed.checks)))
	run := exec.Command(binaryOf)
	run.Stdin = bytes.NewReader(bed.in)
	var errs bytes.Buffer
	run.Stderr = &errs
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	bed.out = bytes.NewReader(out)
	for _, check := range bed.checks {
		check()
	}
	t.Logf("%d conditions and aggregates, %d with errors, %d beyond 8 bytes, %d inputs of distinct values", len(bed.checks), bed.failed, bed.narrowed, bed.counted)
	if bed.out.Len() > 0 || bed.counted < 500 || len(bed.checks) < 3000 || bed.failed < 100 || bed.failed+bed.narrowed > len(bed.checks)/2 {
		t.Errorf("%d bytes of output are left", bed.out.Len())
	}
}

// programBed writes cases, and reads and checks their results.
type programBed struct {
	t        *testing.T
	r        *rand.Rand
	in       []byte
	out      *bytes.Reader
	checks   []func()
	failed   int
	counted  int // inputs of distinct values
	narrowed int // with values that are too large
}

func (b *programBed) number(v uint64) { b.in = binary.LittleEndian.AppendUint64(b.in, v) }

func (b *programBed) bytes(v []byte) {
	b.number(uint64(len(v)))
	b.in = append(b.in, v...)
}

func (b *programBed) read(n int) []byte {
	v := make([]byte, n)
	if _, err := io.ReadFull(b.out, v); err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *programBed) readNumber() uint64 { return binary.LittleEndian.Uint64(b.read(8)) }

// rows describes the rows of a plan: those of input 0 are build rows if there are two.
func rowsOf(plan *joincore.Plan) program.Rows {
	return program.Rows{
		Where: func(ref joincore.ColumnRef) program.Where {
			if ref.Input == 0 && len(plan.Inputs) == 2 {
				return program.Build
			}
			return program.Probe
		},
		Column:     func(ref joincore.ColumnRef) joincore.Column { return plan.Inputs[ref.Input].Columns[ref.Column] },
		Parameters: plan.Parameters,
	}
}

// writeProgram writes a program and the columns that it reads. positions, of each
// input, are the rows that the program sees; nil: all.
func (b *programBed) writeProgram(p *program.Program, plan *joincore.Plan, inputs []*joincore.Relation) {
	b.number(uint64(len(p.Code)))
	b.number(uint64(p.Slots))
	b.bytes(words(append(slices.Clone(p.Code), 0)))
	b.bytes(words(p.Constants))
	b.number(uint64(len(p.Columns)))
	for _, o := range p.Columns {
		desc := plan.Inputs[o.Column.Input].Columns[o.Column.Column]
		b.number(uint64(desc.Width))
		b.number(uint64(bit(o.Probe)))
		values, valid := column(inputs[o.Column.Input], o.Column.Column)
		b.bytes(values)
		b.bytes(valid)
		b.bytes(nil)
	}
}

func words[T ~int64 | ~uint64](list []T) []byte {
	var out []byte
	for _, v := range list {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// column returns a column's values, none of variable length, and a byte for each
// that says whether it is not NULL.
func column(r *joincore.Relation, c int) (values, valid []byte) {
	for _, s := range r.Segments {
		if r.Columns[c].Kind == joincore.Fixed {
			values = append(values, s.Columns[c].Values[:s.Rows*r.Columns[c].Width]...)
		} else {
			values = append(values, make([]byte, 16*s.Rows)...)
		}
		for i := range s.Rows {
			valid = append(valid, bit(s.Columns[c].Validity == nil || s.Columns[c].Validity[i/8]>>(i%8)&1 != 0))
		}
	}
	return values, valid
}

// condition adds a filter of one input, or of all pairs of two.
func (b *programBed) condition(seed uint64) {
	plan, inputs := suite.RandomIntegers(seed, false)
	var e joincore.Expr
	switch n := plan.Root.(type) {
	case *joincore.Filter:
		e = n.Predicate
	case *joincore.Join:
		e = n.Residual
	}
	root := joincore.Node(&joincore.Scan{})
	if len(inputs) == 2 {
		root = &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}}
	}
	plan.Root = &joincore.Filter{Child: root, Predicate: e}
	p, err := program.New(nil, e, rowsOf(plan))
	if errors.Is(err, joincore.ErrUnsupported) {
		return
	} else if err != nil {
		b.t.Fatal(err)
	}
	b.number(0)
	b.writeProgram(p, plan, inputs)
	var pairs []byte
	n := 0
	left, right := 1, int(inputs[len(inputs)-1].Rows())
	if len(inputs) == 2 {
		left = int(inputs[0].Rows())
	}
	for i := range left {
		for j := range right {
			pairs = binary.LittleEndian.AppendUint32(pairs, uint32(i))
			pairs = binary.LittleEndian.AppendUint32(pairs, uint32(j))
			n++
		}
	}
	b.number(uint64(n))
	b.bytes(pairs)
	b.checks = append(b.checks, func() {
		failed, passed := b.readNumber() != 0, b.read(n)
		want, err := oracle.Run(plan, inputs)
		if b.outcome(seed, plan, failed, err) {
			return
		}
		sum := 0
		for _, x := range want {
			sum += x
		}
		if got := bytes.Count(passed, []byte{1}); got != sum {
			b.t.Fatalf("seed %d: %d of %d rows pass, want %d\n%s", seed, got, n, sum, suite.Show(plan.Root))
		}
	})
}

// outcome compares errors and says whether there is one.
func (b *programBed) outcome(seed uint64, plan *joincore.Plan, failed bool, want error) bool {
	if want != nil && !errors.Is(want, joincore.ErrArithmetic) {
		b.t.Fatal(want)
	}
	if failed != (want != nil) {
		b.t.Fatalf("seed %d: failed is %v, the oracle's error %v\n%s", seed, failed, want, suite.Show(plan.Root))
	}
	if failed {
		b.failed++
	}
	return failed
}

// compiled compiles the aggregate at the root of a plan of one input, with what is below it as
// a condition; nil: no kernel computes it.
func compiled(t *testing.T, plan *joincore.Plan) (*program.Groups, *program.Program) {
	t.Helper()
	a := plan.Root.(*joincore.Aggregate)
	var where joincore.Expr
	if f, ok := a.Child.(*joincore.Filter); ok {
		where = f.Predicate
	}
	a.Carry = nil
	rows := rowsOf(plan)
	g, err := program.NewGroups(where, a.Keys, a.Functions, suite.Checked(t, plan).Schema()[a.ID], rows)
	if errors.Is(err, joincore.ErrUnsupported) {
		return nil, nil
	} else if err != nil {
		t.Fatal(err)
	}
	p, err := g.Compile(rows)
	if err != nil {
		t.Fatal(err)
	}
	return g, p
}

// groupsOfWideKeys is an aggregate with keys of 16 bytes, of which halves are often equal.
func groupsOfWideKeys(seed uint64) (*joincore.Plan, []*joincore.Relation) {
	r := rand.New(rand.NewPCG(seed, 9))
	n := r.IntN(200)
	rel := &joincore.Relation{Segments: []joincore.Segment{{Rows: n}}}
	s := &rel.Segments[0]
	for _, width := range []int{16, 16, 4} {
		rel.Columns = append(rel.Columns, joincore.Column{Kind: joincore.Fixed, Width: width, Align: min(width, 8)})
		v := joincore.Vector{Validity: make([]byte, (n+7)/8)}
		for i := range n {
			if r.IntN(6) > 0 {
				v.Validity[i/8] |= 1 << (i % 8)
			}
			for range max(width/8, 1) {
				half := []uint64{0, 1, 1 << 63, ^uint64(0)}[r.IntN(4)]
				v.Values = append(v.Values, binary.LittleEndian.AppendUint64(nil, half)[:min(width, 8)]...)
			}
		}
		s.Columns = append(s.Columns, v)
	}
	column := func(i int) joincore.Value { return joincore.ColumnRef{Column: i} }
	a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{
		{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: column(2)}, {Kind: joincore.Sum, Arg: column(2), Distinct: true},
		{Kind: joincore.Count, Arg: column(2), Distinct: true, Filter: &joincore.IsNull{Arg: column(1)}},
	}}
	for _, c := range [][]int{{0}, {1, 2}, {2, 0, 1}, {0, 1}}[r.IntN(4)] {
		a.Keys = append(a.Keys, column(c))
	}
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: rel.Columns}}, Root: a}
	for i := range len(a.Keys) + len(a.Functions) {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
	}
	return plan, []*joincore.Relation{rel}
}

// distinctValues returns the rows of distinct values, of which the oracle knows columns
// and integers of up to 8 bytes.
func distinctValues(plan *joincore.Plan, inputs []*joincore.Relation, d *program.Distinct) (*joincore.Relation, error) {
	var rowsOf joincore.Node = &joincore.Scan{}
	for _, e := range d.Where {
		rowsOf = &joincore.Filter{Child: rowsOf, Predicate: e}
	}
	of := &joincore.Plan{
		Inputs: plan.Inputs, Parameters: plan.Parameters, Root: &joincore.Aggregate{Child: rowsOf, ID: 1, Keys: d.Keys},
	}
	for i := range d.Keys {
		of.Output = append(of.Output, joincore.ColumnRef{Input: 1, Column: i})
	}
	rows, err := oracle.Run(of, inputs)
	if err != nil {
		return nil, err
	}
	s := joincore.Segment{Rows: len(rows), Columns: make([]joincore.Vector, len(d.Columns))}
	for i := range s.Columns {
		s.Columns[i].Validity = make([]byte, (len(rows)+7)/8)
	}
	at := 0
	for row := range rows {
		for i := range s.Columns {
			v := &s.Columns[i]
			value := make([]byte, d.Columns[i].Width)
			if row[0] == 1 {
				v.Validity[at/8] |= 1 << (at % 8)
				row = row[5:]
				row = row[copy(value, row):]
			} else {
				row = row[1:]
			}
			v.Values = append(v.Values, value...)
		}
		at++
	}
	return &joincore.Relation{Columns: d.Columns, Segments: []joincore.Segment{s}}, nil
}

// distinct returns the rows of the values that an aggregate's functions take once.
func (b *programBed) distinct(plan *joincore.Plan, inputs []*joincore.Relation, g *program.Groups) (list []*joincore.Relation, known bool) {
	for _, d := range g.Distinct {
		values, err := distinctValues(plan, inputs, d)
		switch {
		case errors.Is(err, joincore.ErrArithmetic), errors.Is(err, joincore.ErrInvalid):
			return nil, false
		case err != nil:
			b.t.Fatal(err)
		}
		list = append(list, values)
	}
	return list, true
}

// writeDistinct writes the programs that add values to their groups.
func (b *programBed) writeDistinct(g *program.Groups, values []*joincore.Relation) {
	b.number(uint64(len(values)))
	for i, rel := range values {
		p, err := g.CompileDistinct(i, program.Rows{
			Where:  func(joincore.ColumnRef) program.Where { return program.Probe },
			Column: func(ref joincore.ColumnRef) joincore.Column { return rel.Columns[ref.Column] },
		})
		if err != nil {
			b.t.Fatal(err)
		}
		for i := range p.Columns {
			p.Columns[i].Column.Input = 0
		}
		b.writeProgram(p, &joincore.Plan{Inputs: []joincore.Input{{Columns: rel.Columns}}}, []*joincore.Relation{rel})
		b.number(uint64(bit(p.Wide)))
		b.number(uint64(rel.Rows()))
		b.counted++
	}
}

// aggregate adds an aggregate over one input, with what is below it as a condition.
func (b *programBed) aggregate(seed uint64, plan *joincore.Plan, inputs []*joincore.Relation) {
	a := plan.Root.(*joincore.Aggregate)
	if len(inputs) != 1 {
		return
	}
	g, p := compiled(b.t, plan)
	if g == nil {
		return
	}
	values, known := b.distinct(plan, inputs, g)
	if !known {
		return
	}
	b.number(1)
	b.writeProgram(p, plan, inputs)
	b.number(uint64(p.Filter))
	b.number(uint64(p.FilterColumns))
	b.number(uint64(bit(p.Wide)))
	b.number(uint64(b.r.IntN(2))) // the program lies in shared memory
	b.number(uint64(p.Grouped))
	b.number([]uint64{0, 0, 1, 2, 8}[min(len(a.Keys), 1)*b.r.IntN(5)]) // partitions
	b.number([]uint64{0, 3, 100}[b.r.IntN(3)])                         // rows of one
	b.number(uint64(g.Words))
	b.number(uint64(b.r.IntN(3))) // inputs of which rows are kept
	b.number(uint64(b.r.IntN(2))) // colliding hashes
	layout := g.Layout()
	b.number(uint64(len(layout.Cells)))
	b.number(uint64(layout.Words))
	var kinds []uint64
	for _, c := range layout.Cells {
		kinds = append(kinds, uint64(c.Kind), uint64(c.At), uint64(c.Local))
	}
	b.bytes(words(kinds))
	b.number(uint64(1) << b.r.IntN(7)) // slots
	b.number(uint64(bit(len(a.Keys) == 0)))
	local := []uint64{0, 0, 1, 4, 16, 64}[b.r.IntN(6)] // slots of a block's table
	b.number(local)
	b.number([]uint64{0, 2, 3, 7, 80}[min(local, 1)*uint64(1+b.r.IntN(4))]) // groups that have cells
	b.number(min(local, 1+uint64(b.r.IntN(8))))
	b.number(uint64(layout.LocalWords))
	b.number(uint64(layout.LocalWides))
	b.number(uint64(1) << b.r.IntN(6))
	b.number(uint64(inputs[0].Rows()))
	b.number(0)
	b.writeDistinct(g, values)
	results := g.Results()
	b.number(uint64(len(results)))
	for _, r := range results {
		for _, v := range []uint64{uint64(r.Kind), uint64(r.Column.Width), uint64(r.Word), uint64(r.Shift), uint64(r.Digits), r.Null} {
			b.number(v)
		}
	}
	b.checks = append(b.checks, func() {
		n := int(b.readNumber())
		if n < 0 || n > 1<<20 {
			b.t.Fatalf("seed %d: groups were counted wrongly", seed)
		}
		var values, valid [][]byte
		for _, r := range results {
			values, valid = append(values, b.read(n*r.Column.Width)), append(valid, b.read(n))
		}
		failed := b.readNumber() != 0
		want, err := oracle.Run(plan, inputs)
		if g.Narrowed && failed && err == nil { // a value beyond 8 bytes
			b.narrowed++
			return
		}
		if b.outcome(seed, plan, failed, err) {
			return
		}
		if len(a.Keys) == 0 && n == 0 { // the group of no rows is the caller's
			return
		}
		got := oracle.Rows{}
		for i := range n {
			var row []byte
			for c, r := range results {
				row = oracle.AppendValue(row, values[c][i*r.Column.Width:(i+1)*r.Column.Width], valid[c][i] == 0)
			}
			got[string(row)]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			b.t.Fatalf("seed %d: groups %x, want %x\n%s", seed, got, want, suite.Show(plan.Root))
		}
	})
}
