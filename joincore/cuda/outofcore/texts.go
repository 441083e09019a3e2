package outofcore

import (
	"sort"

	"gpujoin/joincore/cuda/hostinput"
)

// texts are the values of a column of variable length, of rows in the order of their row ids: as if
// their bytes were one after the other. A NULL has none.
type texts struct {
	input  *hostinput.Input
	column int
	ids    []uint32
	ends   []int64 // by row: where its bytes end
}

// textsOf measures the values of rows.
func textsOf(input *hostinput.Input, column int, ids []uint32) *texts {
	t := &texts{input: input, column: column, ids: ids, ends: make([]int64, len(ids))}
	r, end := input.Reader(column), int64(0)
	for i, id := range ids {
		value, _ := r.Varlena(int64(id))
		end += int64(len(value))
		t.ends[i] = end
	}
	return t
}

// begin returns where the bytes of a row begin; for the number of rows, where the last ones end.
func (t *texts) begin(row int) int64 {
	if row == 0 {
		return 0
	}
	return t.ends[row-1]
}

// bytes returns how many bytes all rows have.
func (t *texts) bytes() int64 { return t.begin(len(t.ids)) }

// copy copies bytes, from the given one on.
func (t *texts) copy(to []byte, at int64) {
	r := t.input.Reader(t.column)
	row := sort.Search(len(t.ends), func(i int) bool { return t.ends[i] > at })
	for len(to) > 0 {
		value, _ := r.Varlena(int64(t.ids[row]))
		n := copy(to, value[at-t.begin(row):])
		to, at, row = to[n:], at+int64(n), row+1
	}
}
