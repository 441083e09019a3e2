package links

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	rows := []MethodResult{
		medianResult(Pageable, In, 63999999, []float64{8, 4, 100}, ""),
		medianResult(Pinned, In, 63999999, []float64{2, 1, 3}, "registered once in 9.0 ms"),
		medianResult(Pinned, Out, 63999999, []float64{16}, ""),
		medianResult(Pageable, In, 16<<20, []float64{1}, ""),
		{Method: Coherence, Note: "not here"},
	}
	markBest(rows)
	var out strings.Builder
	report := MethodsReport{Device: "A device", Driver: "13.0", Repeats: 3, Registered: Pinned, Unregistered: Staged, Rows: rows}
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := `A device, CUDA 13.0; medians of 3, every transfer checked
method         direction  size        ms      GB/s  of best  note
pageable copy  in         63999999 B  8.000   8.0   25 %     
pinned copy    in         63999999 B  2.000   32.0  100 %    registered once in 9.0 ms
pinned copy    out        63999999 B  16.000  4.0   100 %    
pageable copy  in         16 MiB      1.000   16.8  100 %    
coherence      -          -           -       -     -        not here
best in, 63999999 B: pinned copy, 32.0 GB/s
best in, 16 MiB: pageable copy, 16.8 GB/s
best out, 63999999 B: pinned copy, 4.0 GB/s
on this platform joins use pinned copy for registered extents and staged copy for other memory
`
	if out.String() != want {
		t.Errorf("printed:\n%s", out.String())
	}
}
