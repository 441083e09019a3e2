package program

import "gpujoin/joincore"

// CellPlace is where the words of a cell are.
type CellPlace struct {
	Kind CellKind
	// At is its first word of 8 bytes in a table of the device; Local the same in
	// that of a block, of words of 4 bytes, or of those of 8 for Min and Max.
	At, Local int
}

// Layout is the memory of a group (kernels/layout/groups.h).
type Layout struct {
	Cells                  []CellPlace
	Words                  int // of 8 bytes of all cells
	LocalWords, LocalWides int // of 4 and of 8 bytes, in the table of a block
}

// words returns how many words of 8 bytes a cell has.
func (k CellKind) words() int {
	switch k {
	case Sum:
		return 2
	case SumWide:
		return 4
	}
	return 1
}

// localWords returns how many words of 4 bytes a cell has in the table of a block.
func (k CellKind) localWords() int {
	switch k {
	case Sum:
		return 3
	case SumWide:
		return 5
	}
	return 1
}

// Layout returns the memory of a group.
func (g *Groups) Layout() Layout {
	var l Layout
	for _, c := range g.Cells {
		p := CellPlace{Kind: c.Kind, At: l.Words, Local: l.LocalWords}
		if c.Kind == Min || c.Kind == Max {
			p.Local = l.LocalWides
			l.LocalWides++
		} else {
			l.LocalWords += c.Kind.localWords()
		}
		l.Words += c.Kind.words()
		l.Cells = append(l.Cells, p)
	}
	return l
}

// Source is how a column of the result is made of a group (kernels/layout/groups.h).
type Source struct {
	Column joincore.Column
	Kind   SourceKind
	Word   int // of the key, or first of the cell
	Shift  int // of the key in its word
	Digits int // words of a sum
	// Null is, of a key, the bit<<32|word that says that it is NULL, or Alone; else
	// the word that is 0 if it is.
	Null uint64
}

// SourceKind is the kind of a Source.
type SourceKind uint8

const (
	// KeyOf is a part of the key.
	KeyOf SourceKind = iota
	// CountOf is the number in the cell.
	CountOf
	// SumOf is a signed sum of 16 bytes, SquaresOf an unsigned one of 32.
	SumOf
	SquaresOf
	// LeastOf is the number in the cell of a Min or a Max, also as one of 16 bytes.
	LeastOf
	// RowOf is the row of an input in which the group was met.
	RowOf
)

// Alone marks a key whose NULL is a group of its own.
const Alone = ^uint64(0)

// Results returns the columns of keys and functions.
func (g *Groups) Results() []Source {
	var out []Source
	for _, p := range g.Parts {
		s := Source{Column: p.Column, Kind: KeyOf, Word: p.Word, Shift: p.Shift, Null: uint64(p.NullShift)<<32 | uint64(p.NullWord)}
		if p.Alone {
			s.Null = Alone
		}
		out = append(out, s)
	}
	cells := g.Layout().Cells
	for _, f := range g.Functions {
		out = append(out, Source{
			Column: f.Column, Kind: f.Kind, Word: cells[f.Cell].At, Digits: cells[f.Cell].Kind.words(), Null: uint64(cells[f.Values].At),
		})
	}
	return out
}
