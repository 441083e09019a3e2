package transferjoin

import (
	"encoding/binary"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
)

// Another provider, which reads the inputs where they are, gets the sums that the host computes.
func TestWorkloadIsJoined(t *testing.T) {
	for _, probe := range []int64{16, 100, 1 << 10, 2<<20 + 1} {
		w, err := Sized(probe)
		if err != nil {
			t.Fatal(err)
		}
		inputs, want := w.inputs(make([]byte, w.Bytes()))
		if rows := [2]int64{inputs[0].Rows(), inputs[1].Rows()}; rows != [2]int64{w.Build, w.Probe} || want.rows != w.Probe || w.Probe > probe || 2*w.Probe <= probe {
			t.Errorf("%d probe rows: %+v, %v", probe, w, rows)
		}
		if w.Probe < 1<<11 {
			if got := nested(inputs); got != want {
				t.Errorf("%d probe rows: %+v, want %+v", probe, want, got)
			}
		}
		plan, err := w.plan()
		if err != nil {
			t.Fatal(err)
		}
		var r result
		var stats joincore.Stats
		if err := exec.Run(t.Context(), cpu.New(), plan, inputs, hostMemory{}, &r, exec.Options{}, &stats); err != nil {
			t.Fatal(err)
		}
		if err := r.check(want); err != nil {
			t.Error(err)
		}
		if err := r.check(sums{want.rows, want.build, want.probe + 1}); err == nil || !strings.Contains(err.Error(), "instead of") {
			t.Errorf("a wrong sum: %v", err)
		}
	}
	if err := (&result{}).check(sums{}); err == nil {
		t.Error("no row is a result")
	}
}

// nested joins by comparing all rows with all.
func nested(inputs []*joincore.Relation) (s sums) {
	each := func(r *joincore.Relation, visit func(key, payload int64)) {
		for _, seg := range r.Segments {
			for i := range seg.Rows {
				at := func(column int) int64 { return int64(binary.LittleEndian.Uint64(seg.Columns[column].Values[8*i:])) }
				visit(at(0), at(1))
			}
		}
	}
	each(inputs[1], func(probe, p int64) {
		each(inputs[0], func(build, b int64) {
			if build == probe {
				s = sums{s.rows + 1, s.build + b, s.probe + p}
			}
		})
	})
	return s
}

func TestSizes(t *testing.T) {
	for _, probe := range []int64{-1, 0, 15, 1<<31 + 1} {
		if w, err := Sized(probe); err == nil {
			t.Errorf("%d: %+v", probe, w)
		}
	}
	if w, err := Sized(1 << 31); err != nil || w != (Workload{1 << 27, 1 << 31}) || w.Bytes() != 34<<30 {
		t.Errorf("workload A is %+v, %v", w, err)
	}
}
