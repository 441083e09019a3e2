package cpu

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// openedWith returns a device with one input, an int8 column of the given
// values.
func openedWith(t *testing.T, values []int64) (*dev, *space) {
	t.Helper()
	opened, err := New().Open(heapMemory{}, device.Options{Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	s, err := opened.Import(0, &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}},
		Segments: []joincore.Segment{{Rows: len(values), Columns: []joincore.Vector{{Values: raw}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*dev), asSpace(s)
}

// is compares the column with a constant.
func is(op joincore.CompareOp, v int) joincore.Expr {
	return &joincore.Compare{Op: op, Left: joincore.ColumnRef{}, Right: joincore.Int(v)}
}

// computed compares a computed value with a constant: such comparisons stay apart.
func computed(v int) joincore.Expr {
	value := &joincore.Coalesce{Args: []joincore.Value{joincore.ColumnRef{}, joincore.Int(-9)}}
	return &joincore.Compare{Op: joincore.Equal, Left: value, Right: joincore.Int(v)}
}

// shapes are conditions of n comparisons.
var shapes = map[string]func(n int) joincore.Expr{
	"flat": func(n int) joincore.Expr {
		e := &joincore.Or{}
		for i := range n {
			e.Args = append(e.Args, computed(i))
		}
		return e
	},
	"left-deep": func(n int) joincore.Expr {
		e := computed(0)
		for i := 1; i < n; i++ {
			e = &joincore.Or{Args: []joincore.Expr{e, computed(i)}}
		}
		return e
	},
	"right-deep": func(n int) joincore.Expr {
		e := computed(0)
		for i := 1; i < n; i++ {
			e = &joincore.Or{Args: []joincore.Expr{computed(i), e}}
		}
		return e
	},
	"balanced": func(n int) joincore.Expr { return balanced(0, n) },
}

func balanced(from, to int) joincore.Expr {
	if to-from == 1 {
		return computed(from)
	}
	middle := (from + to) / 2
	return &joincore.Or{Args: []joincore.Expr{balanced(from, middle), balanced(middle, to)}}
}

// TestConditionRegisters: what a stream needs for a condition of n comparisons
// is a few vectors, log2(n) + 1 at most.
func TestConditionRegisters(t *testing.T) {
	for name, shape := range shapes {
		for _, n := range []int{1, 2, 3, 100, 12_000} {
			d, s := openedWith(t, []int64{int64(n - 1), int64(n), -1})
			e := shape(n)
			first := d.newStream()
			passed(t, first, s, e) // compiles, too
			other := d.newStream()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := passed(t, other, s, e)
			runtime.ReadMemStats(&after)
			if got != 1 {
				t.Errorf("%s of %d: %d rows", name, n, got)
			}
			most := shallow + 1
			if name == "balanced" {
				most += bits.Len(uint(n))
			}
			if held := len(other.registers.truths.items); held > most {
				t.Errorf("%s of %d: %d registers, more than %d", name, n, held, most)
			}
			if grown := int(after.TotalAlloc - before.TotalAlloc); grown > (most+24)*4*d.chunk {
				t.Errorf("%s of %d: another stream took %d bytes", name, n, grown)
			}
		}
	}
}

// passed returns how many rows of the space a filter passes.
func passed(t *testing.T, st *stream, s *space, e joincore.Expr) int64 {
	t.Helper()
	_, count, err := st.NewFilter(e, nil).Apply(st.Scan(s, 0, 0, s.rows[0]))
	if err != nil {
		t.Fatal(err)
	}
	n, err := count.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestConditionDecided: arguments that cannot change the result of any row are
// not evaluated. Here they would fail.
func TestConditionDecided(t *testing.T) {
	d, s := openedWith(t, []int64{1, 2, 3})
	st := d.newStream()
	never := &joincore.Compare{Op: joincore.Equal, Right: joincore.Int(0), Left: &joincore.Arithmetic{
		Op: joincore.Divide, Width: 8, Left: joincore.ColumnRef{}, Right: joincore.Int(0),
	}}
	some, all := is(joincore.Less, 2), is(joincore.Less, 4)
	for name, c := range map[string]struct {
		expr joincore.Expr
		rows int64
	}{
		"or":  {&joincore.Or{Args: []joincore.Expr{some, all, never}}, 3},
		"and": {&joincore.And{Args: []joincore.Expr{some, &joincore.Not{Arg: all}, never}}, 0},
	} {
		if got := passed(t, st, s, c.expr); got != c.rows {
			t.Errorf("%s: %d rows, not %d", name, got, c.rows)
		}
	}
}

// TestConditionShapes compares random conditions of any shape with a
// row-by-row evaluation.
func TestConditionShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	d, s := openedWith(t, values)
	parameters := []joincore.Parameter{{Null: true}, {Int: 3}}
	for range 2000 {
		e := randomCondition(r, r.IntN(6))
		st := d.newStream()
		out := newTruths(d.chunk)
		if err := d.condition(e, parameters).eval(st, st.Scan(s, 0, 0, len(values)).(*rows), out); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if want := truthOf(e, parameters, v); out.of(i) != want {
				t.Fatalf("%d: %d, not %d", v, out.of(i), want)
			}
		}
	}
}

func randomCondition(r *rand.Rand, depth int) joincore.Expr {
	if depth == 0 || r.IntN(5) == 0 {
		c := &joincore.Compare{Op: joincore.CompareOp(1 + r.IntN(6)), Left: joincore.ColumnRef{}, Right: joincore.Int(r.IntN(9))}
		if r.IntN(4) == 0 {
			c.Right = joincore.ParameterIndex(r.IntN(2))
		}
		return c
	}
	if r.IntN(4) == 0 {
		return &joincore.Not{Arg: randomCondition(r, depth-1)}
	}
	args := make([]joincore.Expr, r.IntN(4))
	for i := range args {
		args[i] = randomCondition(r, depth-1)
	}
	if r.IntN(2) == 0 {
		return &joincore.And{Args: args}
	}
	return &joincore.Or{Args: args}
}

func truthOf(e joincore.Expr, parameters []joincore.Parameter, v int64) uint8 {
	switch e := e.(type) {
	case *joincore.Not:
		return isTrue - truthOf(e.Arg, parameters, v)
	case *joincore.And:
		out := isTrue
		for _, a := range e.Args {
			out = min(out, truthOf(a, parameters, v))
		}
		return out
	case *joincore.Or:
		out := isFalse
		for _, a := range e.Args {
			out = max(out, truthOf(a, parameters, v))
		}
		return out
	}
	c := e.(*joincore.Compare)
	var p joincore.Parameter
	switch x := c.Right.(type) {
	case joincore.Int:
		p.Int = int64(x)
	case joincore.ParameterIndex:
		p = parameters[x]
	}
	if p.Null {
		return isUnknown
	}
	if comparisonOf(c.Op).of(cmp.Compare(v, p.Int)) {
		return isTrue
	}
	return isFalse
}
