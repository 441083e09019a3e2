package joincore_test

import (
	"testing"

	"gpujoin/joincore"
)

// BenchmarkCheck checks the vectors of a large table's kept columns.
func BenchmarkCheck(b *testing.B) {
	const segments, columns, rows = 2300, 7, 8
	values := make([]byte, 8*rows)
	r := &joincore.Relation{}
	for range columns {
		r.Columns = append(r.Columns, joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8})
	}
	for range segments {
		s := joincore.Segment{Rows: rows}
		for range columns {
			s.Columns = append(s.Columns, joincore.Vector{Values: values})
		}
		r.Segments = append(r.Segments, s)
	}
	for b.Loop() {
		if err := r.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
