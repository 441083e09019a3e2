package device

import (
	"slices"

	"gpujoin/joincore"
)

// Carried divides columns into those that move with the key of a side and the others,
// whose values are fetched by row id: inputs are theirs, each once.
func Carried(columns []joincore.ColumnRef, moves func(joincore.ColumnRef) bool) (carried []joincore.ColumnRef, inputs []int) {
	return (Keep{Columns: columns}).Carried(moves)
}

// Carried does the same with the columns of k. Inputs whose row ids k asks for come
// first.
func (k Keep) Carried(moves func(joincore.ColumnRef) bool) (carried []joincore.ColumnRef, inputs []int) {
	inputs = slices.Clone(k.Inputs)
	for _, ref := range slices.Concat(k.Columns, k.Late) {
		if moves(ref) {
			carried = append(carried, ref)
		} else if !slices.Contains(inputs, ref.Input) {
			inputs = append(inputs, ref.Input)
		}
	}
	return carried, inputs
}
