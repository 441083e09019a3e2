package exec

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// wanted is what is read of the rows of a node, further up in the plan.
type wanted struct {
	all  columns
	soon columns // what the next step reads, or the plan returns
	// numbered are the inputs whose row numbers some step above keeps.
	numbered []int
}

// below returns the columns that the child of n must return, given that w is required
// of n: those that n reads, those that the plan returns, and those that later steps
// read, which may be gathered later (GFTR, section 5.2.7).
func (b *bulk) below(n joincore.Node, w wanted, reads []joincore.ColumnRef) wanted {
	soon := newColumns(b.plan.Output)
	if _, ok := n.(*joincore.Filter); ok {
		soon = w.soon // what a filter returns is as good as what it takes
	}
	return wanted{all: w.all.with(reads...), soon: soon.with(reads...), numbered: b.keep(w, joincore.Sources(n)).Inputs}
}

// sideOf returns what is wanted of a side of a join.
func (b *bulk) sideOf(n *joincore.Join, s *side, w wanted) wanted {
	return b.below(n, w, append(joincore.Columns(n.Residual), s.key.Columns()...))
}

// keep says which of the wanted columns the rows of some inputs have to carry.
func (b *bulk) keep(w wanted, inputs []int) device.Keep {
	var k device.Keep
	byNumber := func(input int) {
		if !slices.Contains(k.Inputs, input) {
			k.Inputs = append(k.Inputs, input)
		}
	}
	for _, i := range w.numbered {
		if slices.Contains(inputs, i) {
			byNumber(i)
		}
	}
	for _, c := range w.all.of(inputs) {
		switch {
		case b.schema.Column(c).Kind != joincore.Fixed:
			byNumber(c.Input)
		case w.soon[c]:
			k.Columns = append(k.Columns, c)
		default:
			k.Late = append(k.Late, c)
			byNumber(c.Input)
		}
	}
	return k
}
