package selector

import (
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
)

// step is a join of a sequence: facts, too wide to be carried, with a table whose keys
// fit no cache.
func step() costmodel.Resident {
	j := costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 25, 1 << 27}, Payload: [2][]int{{4}, widthsOf(7, 4)}, MatchRatio: 1}
	j.Shape = shapeThen("", j)
	j.TableBytes, j.SortPasses = 1<<29, 3
	return j
}

// A join for which a sample may change the choice starts as a partitioned one, and
// moves to another algorithm if the sample says so.
func TestSamplesDecide(t *testing.T) {
	for _, c := range []struct {
		match float64
		stays bool
	}{{1, false}, {0.7, false}, {1. / 16, true}, {0, true}} {
		ch := chooser{rates: &costmodel.DefaultDeviceRates, join: step()}
		if m, partition := ch.first(); m.Algorithm != joincore.NPJ || !partition {
			t.Fatalf("%v, to be sampled: %v", m.Algorithm, partition)
		}
		told := step()
		told.MatchRatio, told.TableBytes, told.SortPasses = c.match, 0, 0 // unknown to phj
		if stays := !ch.elsewhere(told); stays != c.stays {
			t.Errorf("%g of the rows match: it stays partitioned: %v", c.match, stays)
		} else if !stays && ch.other.Algorithm != joincore.NPJ {
			t.Errorf("it becomes %v", ch.other.Algorithm)
		}
	}
}

// Joins that are not sampled are decided at once.
func TestWithoutASample(t *testing.T) {
	small := step()
	small.Rows = [2]int64{1 << 16, 1 << 22}
	small.TableBytes = 1 << 20
	for name, c := range map[string]struct {
		chooser     chooser
		partition   bool
		materialise string
	}{
		"small":           {chooser{join: small}, false, "om"},
		"nothing to move": {chooser{join: step(), plain: true}, false, ""},
		"chosen":          {chooser{join: costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 22, 1 << 23}, Payload: [2][]int{{4}, {4}}, MatchRatio: 1}}, true, "om"},
	} {
		c.chooser.rates = &costmodel.DefaultDeviceRates
		m, partition := c.chooser.first()
		if partition != c.partition || c.chooser.materialise(m) != c.materialise {
			t.Errorf("%s: %v, %v, %q", name, m.Algorithm, partition, c.chooser.materialise(m))
		}
		if !partition && c.chooser.other.Algorithm != m.Algorithm {
			t.Errorf("%s: %v is chosen and %v is to run", name, m.Algorithm, c.chooser.other.Algorithm)
		}
	}
}

// The range of the build keys is determined if an array may win. The array wins only
// if keys are dense, and a sample does not change that.
func TestDenseKeysDecide(t *testing.T) {
	small := step()
	small.Rows[0], small.TableBytes = 1<<23, 1<<27
	const rows = 1 << 23
	for name, c := range map[string]struct {
		keys  columnar.KeyRange
		array bool
	}{
		"in order":              {columnar.KeyRange{Low: 1, High: rows, Near: rows}, true},
		"with gaps":             {columnar.KeyRange{Low: 1, High: rows * 3 / 2}, true},
		"too many gaps":         {columnar.KeyRange{Low: 1, High: rows * 5 / 2, Near: rows}, false},
		"all over":              {columnar.KeyRange{Low: 3, High: 1 << 63}, false},
		"not one for every row": {columnar.KeyRange{Low: 1, High: rows / 2, Near: rows}, false},
	} {
		ch := chooser{rates: &costmodel.DefaultDeviceRates, join: small}
		without := ch.rates.Pick(small)
		if !ch.looks() {
			t.Fatal("nobody looks for the range")
		}
		ch.learn(c.keys)
		m, _ := ch.first()
		if array := ch.join.Array.Bytes > 0; array != c.array {
			t.Errorf("keys %s: an array: %v", name, array)
		}
		if c.array && m.Algorithm != joincore.NPJ || !c.array && m.Algorithm != without.Algorithm {
			t.Errorf("keys %s: %v is chosen, without the range %v", name, m.Algorithm, without.Algorithm)
		}
		if told := small; c.array && (!ch.elsewhere(told) || ch.other.Prediction.MS() != m.Prediction.MS()) {
			t.Errorf("keys %s: after a sample, %v", name, ch.other.Algorithm)
		}
	}
	large := chooser{rates: &costmodel.DefaultDeviceRates, join: Describe(costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 27, 1 << 28}, Payload: [2][]int{{4, 4}, {4, 4}}, MatchRatio: 1}, 1<<28, 0)}
	if large.looks() {
		t.Error("the range is looked for where partitions win in any case")
	}
}

// Every phase of a report has a name short enough for statistics, and the phases that
// the model predicts are among them.
func TestPhasesHaveTheModelsNames(t *testing.T) {
	got := map[string]bool{}
	for _, name := range []string{
		"histogram", "summary", "range", "offsets", "filter", "reduction", "bypass", "first pass, build", "first pass, probe", "second pass, build",
		"second pass, probe", "match", "close", "gather", "read back",
	} {
		of := PhaseOf(name)
		if got[of] = true; len(of) > 31 {
			t.Errorf("%q is too long", of)
		}
	}
	if len(got) > 8 {
		t.Errorf("%d phases: %v", len(got), got)
	}
	j := Describe(costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 20, 1 << 20}, Payload: [2][]int{{4}, {4}}, MatchRatio: 1, Hot: 0.5}, 1<<20, 0)
	for _, p := range costmodel.DefaultDeviceRates.Predict(&j, costmodel.Materialisation{Build: costmodel.Fetch, Bypass: true}) {
		if !got[p.Name] {
			t.Errorf("%q is predicted and never reported", p.Name)
		}
	}
}

// Columns of 16 bytes are carried while a row of them has room in the passes, and packed
// beyond; an H200 took 3.7 ms for two a side, and 4.7 to fetch them by row id.
func TestWideColumns(t *testing.T) {
	for columns, want := range map[int]costmodel.Transform{1: costmodel.Carry, 2: costmodel.Carry, 5: costmodel.Pack, 8: costmodel.Pack} {
		widths := slices.Repeat([]int{16}, columns)
		j := costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 24, 1 << 25}, Payload: [2][]int{widths, widths}, MatchRatio: 1}
		j = Describe(j, 1<<25, 0)
		m := costmodel.DefaultDeviceRates.Pick(j)
		shaped, _ := j.Shape(m.Materialisation)
		if m.Algorithm != joincore.PHJOM || shaped.Build != want || shaped.Probe != want {
			t.Errorf("%d columns: %v, %v and %v", columns, m.Algorithm, shaped.Build, shaped.Probe)
		}
	}
}
