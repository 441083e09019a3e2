package program

import (
	"reflect"

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
	Kind   CellKind
	Arg    joincore.Value // nil: rows
	Filter joincore.Expr  // nil: none
}

// KeyPart is where a key of a group is in its words.
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
	Where     joincore.Expr // rows for which it is not true are left out; nil: none
	Keys      []joincore.Value
	Parts     []KeyPart // of Keys
	Words     int       // of 8 bytes, of a key
	Cells     []Cell
	Functions []Result
}

// maxWords bounds Groups.Words.
const maxWords = 8

// NewGroups plans an aggregate over the rows for which where is true. columns are
// those of its result: keys, carried ones and functions. It returns ErrUnsupported
// if a device cannot group by the keys or compute the functions.
func NewGroups(where joincore.Expr, keys []joincore.Value, functions []joincore.Function, columns []joincore.Column, rows Rows) (*Groups, error) {
	g := &Groups{Where: where, Keys: keys}
	if err := g.planKeys(columns); err != nil {
		return nil, err
	}
	for i := range functions { // counts first: sums share them
		if f := &functions[i]; f.Kind == joincore.Count {
			g.cell(Cell{Kind: Count, Arg: f.Arg, Filter: f.Filter})
		}
	}
	for i := range functions {
		r, err := g.function(&functions[i], rows)
		if err != nil {
			return nil, err
		}
		r.Column = columns[len(columns)-len(functions)+i]
		g.Functions = append(g.Functions, r)
	}
	if len(g.Cells) > maxCells {
		return nil, unsupported("groups of %d values", len(g.Cells))
	}
	_, err := g.Compile(rows)
	return g, err
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
		if p.Column.Kind != joincore.Fixed || p.Column.Width > 8 {
			return unsupported("groups by values of variable length or of more than 8 bytes")
		}
		p.Word, p.Shift = place(8 * p.Column.Width)
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
func (g *Groups) values(arg joincore.Value, filter joincore.Expr) int {
	for i, c := range g.Cells {
		if c.Kind <= Seen && reflect.DeepEqual(c.Arg, arg) && reflect.DeepEqual(c.Filter, filter) {
			return i
		}
	}
	return g.cell(Cell{Kind: Seen, Arg: arg, Filter: filter})
}

func (g *Groups) function(f *joincore.Function, rows Rows) (Result, error) {
	if f.Distinct {
		return Result{}, unsupported("an aggregate of distinct values")
	}
	if f.Kind > joincore.SumOfSquares {
		return Result{}, unsupported("a sum or an average of floats")
	}
	if f.Kind == joincore.Count {
		return Result{Kind: CountOf, Cell: g.cell(Cell{Kind: Count, Arg: f.Arg, Filter: f.Filter})}, nil
	}
	t, err := joincore.ValueType(f.Arg, rows.Column)
	if err != nil {
		return Result{}, err
	}
	if t.Bytes || t.Width == 16 && f.Kind != joincore.Sum {
		return Result{}, unsupported("an aggregate other than a sum of values of 16 bytes, or of bytes")
	}
	r := Result{Kind: LeastOf, Values: g.values(f.Arg, f.Filter)}
	c := Cell{Kind: Max, Arg: f.Arg, Filter: f.Filter}
	switch f.Kind {
	case joincore.Sum:
		r.Kind, c.Kind = SumOf, Sum
		if t.Width == 16 {
			c.Kind = SumWide
		}
	case joincore.SumOfSquares:
		r.Kind, c.Kind = SquaresOf, SumWide
		c.Arg = &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: f.Arg, Right: f.Arg}
	case joincore.Min, joincore.Max:
		if f.Kind == joincore.Min {
			c.Kind = Min
		}
	default: // whether all values are other than 0, or any
		c.Arg = &joincore.Truth{Arg: &joincore.Compare{Op: joincore.NotEqual, Left: f.Arg, Right: joincore.Int(0)}}
		if f.Kind == joincore.BoolAnd {
			c.Kind = Min
		}
	}
	r.Cell = g.cell(c)
	return r, nil
}

// Compile returns the program that groups rows.
func (g *Groups) Compile(rows Rows) (*Program, error) {
	c := newCompiler(rows)
	if g.Where != nil {
		c.filter(g.Where)
	}
	for i, k := range g.Keys {
		p := &g.Parts[i]
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
		if !done[i] {
			c.update(g.Cells, places, i, done)
		}
	}
	return c.finish()
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
		if !done[i] && reflect.DeepEqual(cells[i].Arg, of.Arg) && reflect.DeepEqual(cells[i].Filter, of.Filter) {
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
