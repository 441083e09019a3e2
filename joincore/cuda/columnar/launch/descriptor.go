package launch

// MaxPayload is the most payload columns of a side.
const MaxPayload = 16

// ResultColumn is gj_result_column of kernels/layout/sort.h, which says what each
// field means.
type ResultColumn struct {
	Side, Bytes, From, Index, Step, To uint64
}

// Result is gj_result of kernels/layout/sort.h.
type Result struct {
	Columns, Capacity, Rows uint64
	Column                  [1 + 2*MaxPayload]ResultColumn
}
