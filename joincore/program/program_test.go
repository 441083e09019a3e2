package program

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
)

// run evaluates a program as the device does, with all that it relies on
// checked: operands, targets and the depth of the stack.
func run(t *testing.T, p *Program, column func(Operand) (value []byte, null bool)) uint8 {
	t.Helper()
	var stack []uint8
	pop := func() uint8 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	integer := func(i int) (int64, bool) {
		if i&Constant != 0 {
			return p.Constants[i&^Constant], false
		}
		b, null := column(p.Columns[i])
		var v int64
		for j := range b {
			v |= int64(b[j]) << (8 * j)
		}
		unused := 64 - 8*len(b)
		return v << unused >> unused, null
	}
	for at := 0; at < len(p.Code); at++ {
		i := p.Code[at]
		switch i.Code() {
		case Push:
			stack = append(stack, i.Compare())
		case Compare:
			a, aNull := integer(i.Left())
			b, bNull := integer(i.Right())
			truth := Unknown
			if !aNull && !bNull {
				truth = 2 * bit(map[joincore.CompareOp]bool{
					joincore.Equal: a == b, joincore.NotEqual: a != b, joincore.Less: a < b,
					joincore.LessEqual: a <= b, joincore.Greater: a > b, joincore.GreaterEqual: a >= b,
				}[joincore.CompareOp(i.Compare())])
			}
			stack = append(stack, truth)
		case SameBytes:
			a, aNull := column(p.Columns[i.Left()])
			b, bNull := column(p.Columns[i.Right()])
			truth := 2 * bit(string(a) == string(b))
			if aNull || bNull {
				truth = Unknown
			}
			stack = append(stack, truth)
		case IsNull:
			_, null := column(p.Columns[i.Left()])
			stack = append(stack, 2*bit(null))
		case And:
			v := pop()
			stack[len(stack)-1] = min(stack[len(stack)-1], v)
		case Or:
			v := pop()
			stack[len(stack)-1] = max(stack[len(stack)-1], v)
		case Not:
			stack[len(stack)-1] = True - stack[len(stack)-1]
		case SkipFalse, SkipTrue:
			if i.Target() <= at {
				t.Fatalf("instruction %d jumps to %d", at, i.Target())
			}
			if skip := i.Code() == SkipFalse; skip && stack[len(stack)-1] == False || !skip && stack[len(stack)-1] == True {
				at = i.Target() - 1
			}
		default:
			t.Fatalf("instruction %x", uint64(i))
		}
		if len(stack) > stackDepth {
			t.Fatalf("%d truth values on the stack", len(stack))
		}
	}
	if len(stack) != 1 {
		t.Fatalf("%d truth values are left", len(stack))
	}
	return stack[0]
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

var widths = []int{1, 2, 4, 8}

// expression makes a condition out of random bytes, which it uses up.
type source struct{ b []byte }

func (s *source) next(n int) int {
	if len(s.b) == 0 {
		return 0
	}
	v := int(s.b[0]) % n
	s.b = s.b[1:]
	return v
}

func (s *source) expression(depth int) joincore.Expr {
	kinds := 5
	if depth == 0 {
		kinds = 2
	}
	switch s.next(kinds) {
	case 0:
		return &joincore.Compare{Op: joincore.CompareOp(1 + s.next(6)), Left: s.operand(), Right: s.operand()}
	case 1:
		return &joincore.IsNull{Arg: s.column()}
	case 2:
		return &joincore.Not{Arg: s.expression(depth - 1)}
	case 3:
		return &joincore.And{Args: s.expressions(depth - 1)}
	default:
		return &joincore.Or{Args: s.expressions(depth - 1)}
	}
}

func (s *source) expressions(depth int) []joincore.Expr {
	args := make([]joincore.Expr, s.next(4))
	for i := range args {
		args[i] = s.expression(depth)
	}
	return args
}

func (s *source) operand() joincore.Value {
	switch s.next(4) {
	case 0:
		return joincore.Int(int64(int8(s.next(256))))
	case 1:
		return joincore.ParameterIndex(s.next(2))
	default:
		return s.column()
	}
}

// column is of one of two inputs.
func (s *source) column() joincore.ColumnRef {
	return joincore.ColumnRef{Input: s.next(2), Column: s.next(len(widths))}
}

// oneRow makes a relation of one row of small numbers and NULLs.
func oneRow(s *source) *joincore.Relation {
	r := &joincore.Relation{Segments: []joincore.Segment{{Rows: 1}}}
	for _, w := range widths {
		value := binary.LittleEndian.AppendUint64(nil, uint64(int64(s.next(5)-2)))
		r.Columns = append(r.Columns, joincore.Column{Kind: joincore.Fixed, Width: w, Align: w})
		r.Segments[0].Columns = append(r.Segments[0].Columns, joincore.Vector{Values: value[:w], Validity: []byte{byte(s.next(4))}})
	}
	return r
}

// check compares the condition of a join of two one-row relations with the oracle.
func check(t *testing.T, data []byte) {
	s := &source{data}
	inputs := []*joincore.Relation{oneRow(s), oneRow(s)}
	parameters := []joincore.Parameter{{Int: int64(s.next(3) - 1)}, {Null: true}}
	e := s.expression(5)
	kind := joincore.Kind(1 + s.next(2)*4) // Inner or Semi
	plan := &joincore.Plan{
		Inputs:     []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}},
		Root:       &joincore.Join{Kind: kind, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}, Residual: e},
		Parameters: parameters,
	}
	rows, err := oracle.Run(plan, inputs)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(nil, e, parameters, func(c joincore.ColumnRef) Where { return Build + Where(c.Input) })
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, p, func(o Operand) ([]byte, bool) {
		if o.Probe != (o.Column.Input == 1) {
			t.Fatalf("column %v is looked for in the wrong row", o.Column)
		}
		r := inputs[o.Column.Input]
		return oracle.ValueAt(r.Columns[o.Column.Column], &r.Segments[0].Columns[o.Column.Column], 0)
	})
	if (got == True) != (len(rows) == 1) {
		t.Errorf("the program says %d, the oracle returns %d rows\n%v", got, len(rows), data)
	}
}

func FuzzConditions(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 3, 4, 2, 0, 1, 2, 3, 1, 1, 1})
	f.Fuzz(check)
}

func TestConditions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		data := make([]byte, 20+r.IntN(200))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		check(t, data)
	}
}

func TestColumnsOfNoRowAreNull(t *testing.T) {
	nowhere := func(joincore.ColumnRef) Where { return Nowhere }
	for _, c := range []struct {
		e    joincore.Expr
		want uint8
	}{
		{&joincore.IsNull{Arg: joincore.ColumnRef{}}, True},
		{&joincore.Not{Arg: &joincore.IsNull{Arg: joincore.ColumnRef{}}}, False},
		{&joincore.Compare{Op: joincore.Equal, Left: joincore.ColumnRef{}, Right: joincore.Int(0)}, Unknown},
	} {
		p, err := New(nil, c.e, nil, nowhere)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, p, nil); got != c.want {
			t.Errorf("%+v: %d, want %d", c.e, got, c.want)
		}
	}
}

func TestEqualitiesComeFirst(t *testing.T) {
	same := []Same{{joincore.ColumnRef{}, joincore.ColumnRef{Input: 1}, true}, {joincore.ColumnRef{Column: 1}, joincore.ColumnRef{Input: 1, Column: 1}, false}}
	p, err := New(same, &joincore.IsNull{Arg: joincore.ColumnRef{}}, nil, func(c joincore.ColumnRef) Where { return Build + Where(c.Input) })
	if err != nil {
		t.Fatal(err)
	}
	values := map[Operand]string{
		{joincore.ColumnRef{}, false}: "abcdefgh", {joincore.ColumnRef{Input: 1}, true}: "abcdefgh",
		{joincore.ColumnRef{Column: 1}, false}: "\xff", {joincore.ColumnRef{Input: 1, Column: 1}, true}: "\xff\xff",
	}
	column := func(o Operand) ([]byte, bool) { return []byte(values[o]), false }
	if got := run(t, p, column); got != False { // the first column is not NULL
		t.Errorf("%d", got)
	}
	if p.Code[0].Code() != SameBytes {
		t.Errorf("first %x", uint64(p.Code[0]))
	}
}

// A chain of alternating conjunctions and disjunctions, as deep as it is long.
func TestDeepConditionsNeedLittleStack(t *testing.T) {
	var e joincore.Expr = &joincore.IsNull{Arg: joincore.ColumnRef{}}
	for i := range 1000 {
		args := []joincore.Expr{&joincore.IsNull{Arg: joincore.ColumnRef{}}, e}
		if e = (&joincore.And{Args: args}); i%2 == 0 {
			e = &joincore.Or{Args: args}
		}
	}
	p, err := New(nil, e, nil, func(joincore.ColumnRef) Where { return Probe })
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, p, func(Operand) ([]byte, bool) { return nil, true }); got != True {
		t.Errorf("%d", got)
	}
}

func TestTooManyConstants(t *testing.T) {
	args := make([]joincore.Expr, Constant+1)
	for i := range args {
		args[i] = &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{}, Right: joincore.Int(i)}
	}
	_, err := New(nil, &joincore.And{Args: args}, nil, func(joincore.ColumnRef) Where { return Probe })
	if !errors.Is(err, joincore.ErrUnsupported) {
		t.Error(err)
	}
}
