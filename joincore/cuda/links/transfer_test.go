package links

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSumNoticesWhatDiffers(t *testing.T) {
	b := make([]byte, 3<<16+8)
	fillHost(b, 1, 4)
	want := sumHost(b, 4)
	if sumHost(b, 1) != want || sumHost(b, 7) != want {
		t.Error("the number of threads counts")
	}
	for name, change := range map[string]func(b []byte){
		"one bit":             func(b []byte) { b[70001] ^= 1 },
		"words change places": func(b []byte) { x := slices.Clone(b[:8]); copy(b[:8], b[8:16]); copy(b[8:16], x) },
		"the last word":       func(b []byte) { b[len(b)-1]++ },
		"a page came twice":   func(b []byte) { copy(b[4096:8192], b[:4096]) },
		"other random words":  func(b []byte) { fillHost(b, 2, 3) },
		"nothing has arrived": func(b []byte) { poison(b, 3) },
		"the end has not":     func(b []byte) { poison(b[1<<16:], 3) },
	} {
		other := slices.Clone(b)
		change(other)
		if sumHost(other, 4) == want {
			t.Errorf("%s: the same sum", name)
		}
	}
}

func TestSharedCoversEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 1 << 16, 1<<16 + 1, 1 << 20} {
		for _, threads := range []int{1, 3, 64} {
			b := make([]byte, n)
			inThreads(n, threads, func(low, high int) {
				for i := low; i < high; i++ {
					b[i]++
				}
			})
			if i := slices.IndexFunc(b, func(v byte) bool { return v != 1 }); i >= 0 {
				t.Errorf("%d bytes, %d threads: byte %d was visited %d times", n, threads, i, b[i])
			}
		}
	}
}

func TestMapHost(t *testing.T) {
	b, err := MapHost(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	b[0], b[len(b)-1] = 1, 2
	if err := unix.Munmap(b); err != nil {
		t.Error(err)
	}
}

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
