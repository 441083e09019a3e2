package program

import (
	"reflect"
	"slices"

	"gpujoin/joincore"
)

// CellKind is what a group keeps of values.
type CellKind uint8

const (
	// Count counts rows.
	Count CellKind = iota
	// Seen is 1 if there was a row.
	Seen
	// Sum adds integers of up to 8 bytes, SumWide of 16.
	Sum
	SumWide
	// Min and Max are those of integers of up to 8 bytes.
	Min
	Max
)

// Cell is what a group keeps of the values of an expression.
type Cell struct {
	Kind     CellKind
	Distinct int            // 0: of the aggregate's rows; else of those of Distinct[Distinct-1]
	Arg      joincore.Value // nil: rows
	Filter   joincore.Expr  // nil: none
}

// KeyPart is where a key of a group is in its words. A key of 16 bytes fills two words:
// its low half is in Word, its high half in the next one.
type KeyPart struct {
	Column      joincore.Column // of the result
	Word, Shift int
	// NullWord and NullShift are the bit that says that it is NULL. Alone: the
	// key is the only one and fills its word; NULL is a group of its own.
	NullWord, NullShift int
	Alone               bool
}

// Result is a function's column of the result.
type Result struct {
	Kind         SourceKind
	Column       joincore.Column
	Cell, Values int
}

// Groups says what the groups of an aggregate are made of, whatever rows they come
// from.
type Groups struct {
	Where     []joincore.Expr // rows for which one is not true are left out, before the next one is evaluated
	Keys      []joincore.Value
	Parts     []KeyPart // of Keys
	Words     int       // of 8 bytes, of a key
	Cells     []Cell
	Functions []Result
	Distinct  []*Distinct // values that functions take once
	// Narrowed: values of 16 bytes must fit 8, else their program fails, although the
	// expressions are in range.
	Narrowed bool
}

// maxWords bounds Groups.Words.
const maxWords = 8

// NewGroups plans an aggregate over the rows for which where is true. columns are
// those of its result: keys, carried ones and functions. It returns ErrUnsupported
// if a device cannot group by the keys or compute the functions.
func NewGroups(where joincore.Expr, keys []joincore.Value, functions []joincore.Function, columns []joincore.Column, rows Rows) (*Groups, error) {
	return newGroups(conditions(where), keys, functions, columns, rows)
}

// conditions returns those that there are.
func conditions(list ...joincore.Expr) []joincore.Expr {
	return slices.DeleteFunc(list, func(e joincore.Expr) bool { return e == nil })
}

func newGroups(where []joincore.Expr, keys []joincore.Value, functions []joincore.Function, columns []joincore.Column, rows Rows) (*Groups, error) {
	g := &Groups{Where: where, Keys: keys}
	if err := g.planKeys(columns); err != nil {
		return nil, err
	}
	of := make([]Cell, len(functions))
	for i := range functions {
		var err error
		if of[i], err = g.of(&functions[i], columns, rows); err != nil {
			return nil, err
		}
		if functions[i].Kind == joincore.Count { // counts first: sums share them
			of[i].Kind = Count
			g.cell(of[i])
		}
	}
	for i := range functions {
		r, err := g.function(&functions[i], of[i], rows)
		if err != nil {
			return nil, err
		}
		r.Column = columns[len(columns)-len(functions)+i]
		g.Functions = append(g.Functions, r)
	}
	if len(g.Cells) > maxCells {
		return nil, unsupported("groups of %d values", len(g.Cells))
	}
	if _, err := g.Compile(rows); err != nil {
		return nil, err
	}
	for i, d := range g.Distinct {
		if _, err := g.CompileDistinct(i, d.rows()); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// maxCells bounds Groups.Cells.
const maxCells = 64

// planKeys places parts one after the other in the first word that has space.
func (g *Groups) planKeys(columns []joincore.Column) error {
	var used []int
	place := func(bits int) (word, shift int) {
		for w, n := range used {
			if n+bits <= 64 {
				used[w] += bits
				return w, n
			}
		}
		used = append(used, bits)
		return len(used) - 1, 0
	}
	for i := range g.Keys {
		p := KeyPart{Column: columns[i]}
		switch width := p.Column.Width; {
		case p.Column.Kind != joincore.Fixed:
			return unsupported("groups by values of variable length")
		case width > 8 && width != 16:
			return unsupported("groups by values of %d bytes", width)
		case width == 16: // words of their own, one after the other
			p.Word, _ = place(64)
			place(64)
		default:
			p.Word, p.Shift = place(8 * width)
		}
		if p.Alone = len(g.Keys) == 1 && p.Column.Width == 8; !p.Alone {
			p.NullWord, p.NullShift = place(1)
		}
		g.Parts = append(g.Parts, p)
	}
	g.Words = max(len(used), 1)
	if g.Words > maxWords {
		return unsupported("groups by %d keys", len(g.Keys))
	}
	return nil
}

// cell returns the number of a cell.
func (g *Groups) cell(c Cell) int {
	for i := range g.Cells {
		if reflect.DeepEqual(g.Cells[i], c) {
			return i
		}
	}
	g.Cells = append(g.Cells, c)
	return len(g.Cells) - 1
}

// values returns the cell that says whether there were values.
func (g *Groups) values(of Cell) int {
	for i, c := range g.Cells {
		if c.Kind <= Seen && c.same(&of) {
			return i
		}
	}
	of.Kind = Seen
	return g.cell(of)
}

// same says whether cells keep something of the same values.
func (c *Cell) same(other *Cell) bool {
	return c.Distinct == other.Distinct && reflect.DeepEqual(c.Arg, other.Arg) && reflect.DeepEqual(c.Filter, other.Filter)
}

// function plans a function, which keeps something of the values of c.
func (g *Groups) function(f *joincore.Function, c Cell, rows Rows) (Result, error) {
	if f.Kind > joincore.SumOfSquares {
		return Result{}, unsupported("a sum or an average of floats")
	}
	if f.Kind == joincore.Count {
		return Result{Kind: CountOf, Cell: g.cell(c)}, nil
	}
	t, err := joincore.ValueType(f.Arg, rows.Column)
	if err != nil {
		return Result{}, err
	}
	if t.Bytes {
		return Result{}, unsupported("an aggregate of bytes")
	}
	if least := f.Kind == joincore.Min || f.Kind == joincore.Max; t.Width == 16 && (least || f.Kind == joincore.SumOfSquares) {
		g.Narrowed = true
		c.Arg = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: c.Arg, Right: joincore.Int(0)}
	}
	r := Result{Kind: LeastOf, Values: g.values(c)}
	c.Kind = Max
	switch f.Kind {
	case joincore.Sum:
		r.Kind, c.Kind = SumOf, Sum
		if t.Width == 16 {
			c.Kind = SumWide
		}
	case joincore.SumOfSquares:
		r.Kind, c.Kind = SquaresOf, SumWide
		c.Arg = &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: c.Arg, Right: c.Arg}
	case joincore.Min, joincore.Max:
		if f.Kind == joincore.Min {
			c.Kind = Min
		}
	default: // whether all values are other than 0, or any
		c.Arg = &joincore.Truth{Arg: &joincore.Compare{Op: joincore.NotEqual, Left: c.Arg, Right: joincore.Int(0)}}
		if f.Kind == joincore.BoolAnd {
			c.Kind = Min
		}
	}
	r.Cell = g.cell(c)
	return r, nil
}

// Compile returns the program that groups rows.
func (g *Groups) Compile(rows Rows) (*Program, error) { return g.compile(g.Where, g.Keys, 0, rows) }

// compile returns the program that adds to the cells of some rows (Cell.Distinct) those
// that pass a condition, by their keys.
func (g *Groups) compile(where []joincore.Expr, keys []joincore.Value, of int, rows Rows) (*Program, error) {
	c := newCompiler(rows)
	for _, e := range where {
		c.filter(e)
	}
	for i, k := range keys {
		p := &g.Parts[i]
		if p.Column.Width == 16 {
			c.wideKey(k, p)
			continue
		}
		c.value(k)
		flags, bits := 0, 8*p.Column.Width
		behind := !p.Alone && p.NullWord == p.Word && p.NullShift == p.Shift+bits
		switch {
		case p.Alone:
			flags = FlagNull
		case behind:
			flags = FlagKeyNull
		}
		c.emit(Key, uint8(bits), operand{index: p.Word}, flags, p.Shift)
		if !p.Alone && !behind {
			c.emit(KeyNull, 0, operand{index: p.NullWord}, 0, p.NullShift)
		}
	}
	c.simple(Group, 0)
	c.groupedLength, c.groupedColumns = len(c.code), len(c.columns.list)
	done, places := make([]bool, len(g.Cells)), g.Layout().Cells
	for i := range g.Cells {
		if !done[i] && g.Cells[i].Distinct == of {
			c.update(g.Cells, places, i, done)
		}
	}
	return c.finish()
}

// wideKey adds a key of 16 bytes. Both halves of a slot are loaded as numbers of 8 bytes;
// those of NULLs are left out.
func (c *compiler) wideKey(k joincore.Value, p *KeyPart) {
	slot := c.take(true)
	low, high := operand{kind: Slot, index: slot.index}, operand{kind: Slot, index: slot.index + 1}
	c.load(c.constant(0)) // the high half has a NULL of its own, which storing 16 bytes does not change
	c.emit(Store, 0, operand{index: high.index}, 0, 0)
	c.store(slot, c.value(k))
	c.emit(KeyNull, 0, operand{index: p.NullWord}, 0, p.NullShift)
	c.push(All)
	c.push(WhereNull)
	c.pop(PopOthers)
	for i, half := range []operand{low, high} {
		c.load(half)
		c.emit(Key, 64, operand{index: p.Word + i}, 0, 0)
	}
	c.pop(Pop)
	c.drop(slot)
}

// update adds to all cells that keep something of the same values as the first.
func (c *compiler) update(cells []Cell, places []CellPlace, first int, done []bool) {
	of := cells[first]
	if of.Filter != nil {
		c.condition(of.Filter)
		c.push(WhereTrue)
	}
	land := c.skip()
	flags := c.argument(of.Arg)
	for i := first; i < len(cells); i++ {
		if !done[i] && cells[i].same(&of) {
			done[i] = true
			c.emit(Update, uint8(cells[i].Kind), operand{index: places[i].At}, flags, places[i].Local)
		}
	}
	land()
	if of.Filter != nil {
		c.pop(Pop)
	}
}

// argument evaluates what cells keep something of. Of columns that are not integers
// it is NULL or not.
func (c *compiler) argument(arg joincore.Value) (flags int) {
	if arg == nil {
		return FlagRows
	}
	if ref, ok := arg.(joincore.ColumnRef); ok {
		if desc := c.rows.Column(ref); desc.Kind != joincore.Fixed || desc.Width > 8 && desc.Width != 16 {
			c.isNull(&joincore.IsNull{Arg: ref})
			c.simple(NullWhereTrue, 0)
			return 0
		}
	}
	return wideFlag(c.value(arg))
}

// Distinct is an expression of which functions take each value once a group. The
// values are groups themselves, by the keys and the value, without functions. They
// come from the rows that have a value and pass the functions' filter. In the end
// they are rows that are added to the aggregate's groups (Groups.CompileDistinct).
type Distinct struct {
	*Groups
	Columns []joincore.Column // of the rows: the keys and the value

	value  joincore.Value
	filter joincore.Expr
}

// DistinctInput is the number of the input whose columns are Distinct.Columns.
const DistinctInput = -1

// of returns the rows of which a function's cells keep something: those of the
// aggregate, or distinct values.
func (g *Groups) of(f *joincore.Function, columns []joincore.Column, rows Rows) (Cell, error) {
	if !f.Distinct {
		return Cell{Arg: f.Arg, Filter: f.Filter}, nil
	}
	number := slices.IndexFunc(g.Distinct, func(d *Distinct) bool {
		return reflect.DeepEqual(d.value, f.Arg) && reflect.DeepEqual(d.filter, f.Filter)
	})
	if number < 0 {
		d, err := g.distinct(f, columns, rows)
		if err != nil {
			return Cell{}, err
		}
		number = len(g.Distinct)
		g.Distinct = append(g.Distinct, d)
	}
	return Cell{Distinct: number + 1, Arg: joincore.ColumnRef{Input: DistinctInput, Column: len(g.Keys)}}, nil
}

// distinct plans the groups of the values of a function's argument. columns begin with
// those of the keys. The argument of rows that fail the filter is not evaluated.
func (g *Groups) distinct(f *joincore.Function, columns []joincore.Column, rows Rows) (*Distinct, error) {
	column, err := storedAs(f.Arg, rows)
	if err != nil {
		return nil, err
	}
	d := &Distinct{Columns: append(slices.Clone(columns[:len(g.Keys)]), column), value: f.Arg, filter: f.Filter}
	hasValue := &joincore.Not{Arg: &joincore.IsNull{Arg: f.Arg}}
	where := append(slices.Clone(g.Where), conditions(f.Filter, hasValue)...)
	d.Groups, err = newGroups(where, append(slices.Clone(g.Keys), f.Arg), nil, d.Columns, rows)
	return d, err
}

// storedAs returns the column of a key.
func storedAs(v joincore.Value, rows Rows) (joincore.Column, error) {
	if ref, ok := v.(joincore.ColumnRef); ok {
		return rows.Column(ref), nil
	}
	t, err := joincore.ValueType(v, rows.Column)
	if t.Bytes {
		err = unsupported("distinct values of variable length")
	}
	return joincore.Column{Kind: joincore.Fixed, Width: t.Width, Align: min(t.Width, 8)}, err
}

// CompileDistinct returns the program that adds the values of Distinct[i] to their
// groups, which exist. rows are those of DistinctInput.
func (g *Groups) CompileDistinct(i int, rows Rows) (*Program, error) {
	keys := make([]joincore.Value, len(g.Keys))
	for k := range keys {
		keys[k] = joincore.ColumnRef{Input: DistinctInput, Column: k}
	}
	return g.compile(nil, keys, i+1, rows)
}

// rows describes the distinct values.
func (d *Distinct) rows() Rows {
	return Rows{
		Where:  func(joincore.ColumnRef) Where { return Probe },
		Column: func(ref joincore.ColumnRef) joincore.Column { return d.Columns[ref.Column] },
	}
}
