package transferjoin

import (
	"encoding/json"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/links"
)

func TestTable(t *testing.T) {
	w := Workload{Build: 1 << 20, Probe: 1 << 24}
	rows := []Row{
		w.measured(links.Pageable, []float64{9, 4, 8}), w.measured(links.Staged, []float64{2}), missing(links.Coherence, "not here"),
		w.measured(links.ZeroCopy, []float64{4}), missing(links.Migration, "only with -unified"),
	}
	rows[1].Algorithm, rows[1].Note = "npj", "registered"
	compare(rows)
	var out strings.Builder
	if err := (&Report{Device: "A device", Driver: "13.0", Repeats: 3, Workload: w, Rows: rows}).Print(&out); err != nil {
		t.Fatal(err)
	}
	want := `A device, CUDA 13.0; 1048576 build rows, 16777216 probe rows of two columns of 8 bytes; medians of 3, every result checked
method             join  ms   G rows/s  GB/s   of zero-copy  paper, PCIe 3                        paper, NVLink 2             note
pageable copy      -     8.0  2.23      35.7   0.50          significantly slower than zero-copy  slower than coherence       
staged copy        npj   2.0  8.91      142.6  2.00          within 5 % of zero-copy              slower than coherence       registered
coherence          -     -    -         -      -             unsupported                          within 14 % of the maximum  not here
zero-copy          -     4.0  4.46      71.3   1.00          -                                    as fast as coherence        
unified migration  -     -    -         -      -             68 % slower than zero-copy           slower than with PCIe       only with -unified
`
	if out.String() != want {
		t.Errorf("printed:\n%s", out.String())
	}
	compare(rows[:3]) // without zero-copy there is nothing to compare with
	if rows[0].Relative != 0.5 {
		t.Errorf("%v", rows[0].Relative)
	}
	text, err := json.Marshal(rows[1])
	if want := `{"method":"staged copy","algorithm":"npj","ms":2,"grows_s":8.912896,"gb_s":142.606336,"of_zero_copy":2,"note":"registered","paper_pcie3":"within 5 % of zero-copy","paper_nvlink2":"slower than coherence"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

// Of each method the paper says something.
func TestPapers(t *testing.T) {
	for _, m := range links.Methods() {
		if papers[m] == (Paper{}) {
			t.Errorf("nothing of %s", m)
		}
	}
	if len(papers) != len(links.Methods()) {
		t.Errorf("%d methods", len(papers))
	}
}
