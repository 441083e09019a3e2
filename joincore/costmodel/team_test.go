package costmodel

import "testing"

// The first pass over several devices only sends, however few partitions there are.
func TestTwoPasses(t *testing.T) {
	j := Resident{KeyBytes: 4, Rows: [2]int64{1 << 10, 1 << 11}, Payload: [2][]int{{4, 4}, {4, 4}}, MatchRatio: 1}
	j.Shape = func(m Materialisation) (Materialisation, [2]Carried) {
		return m, [2]Carried{{Words: 2, OnePass: true}, {Words: 3, OnePass: true}}
	}
	want := Materialisation{Build: Pack}
	m, carried := twoPasses(j).Shape(want)
	if m != want || carried != [2]Carried{{Words: 2}, {Words: 3}} {
		t.Errorf("%v, %v", m, carried)
	}
	if _, c := j.Shape(want); !c[0].OnePass {
		t.Error("the join itself was changed")
	}
}
