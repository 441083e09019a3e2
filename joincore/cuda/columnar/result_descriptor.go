package columnar

// MaxPayload is the maximum number of payload columns of a side.
const MaxPayload = 16

// ResultColumn mirrors gj_result_column of kernels/layout/sort.h, where the fields are
// documented.
type ResultColumn struct {
	Side, Bytes, From, Index, Step, To uint64
}

// Result mirrors gj_result of kernels/layout/sort.h.
type Result struct {
	Columns, Capacity, Rows uint64
	Column                  [1 + 2*MaxPayload]ResultColumn
}
