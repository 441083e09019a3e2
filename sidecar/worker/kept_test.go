package worker

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/plandoc"
	"gpujoin/testsupport/suite"
)

// TestKeptInputs: the child runs the form of the job that the daemon tells it. An input that is
// kept or mirrored has its hidden column, and its condition is evaluated.
func TestKeptInputs(t *testing.T) {
	row := func(row int) uint64 { return uint64(row) }
	plain := suite.Keyed(500, row)
	whole := suite.Keyed(500, row)
	whole.Columns = append(whole.Columns, whole.Columns[0])
	for i := range whole.Segments {
		s := &whole.Segments[i]
		s.Columns = append(s.Columns, s.Columns[0])
	}
	hidden := joincore.ColumnRef{Input: 1, Column: len(plain.Columns)}
	condition := &joincore.Compare{Op: joincore.Less, Left: hidden, Right: joincore.Int(70)}
	text := plandoc.WriteKept(suite.PairPlan(plain, whole), map[int]plandoc.Kept{1: {Hidden: 1, Condition: condition}})
	decoded, err := planjson.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, "cpu", nil).ready()
	for kept, inputs := range map[uint64][]*joincore.Relation{0: {plain, plain}, 2: {plain, whole}} {
		checked, err := decoded.PlanFor(kept)
		if err != nil {
			t.Fatal(err)
		}
		plan := joincore.Plan{Inputs: checked.Inputs, Root: checked.Root, Output: checked.Output}
		want, err := oracle.Run(&plan, inputs)
		if err != nil {
			t.Fatal(err)
		}
		if rows := map[uint64]int{0: 500, 2: 70}[kept]; len(want) != rows {
			t.Fatalf("the oracle has %d rows of inputs %b", len(want), kept)
		}
		sink := newSink(r.account, &plan, 100)
		job, free := r.job(&plan, inputs, sink)
		job.Text, job.Kept = text, kept
		var stats joincore.Stats
		if err := r.remote.Run(t.Context(), job, &stats); err != nil || !maps.Equal(sink.result, want) {
			t.Errorf("inputs %b: %d rows, %d expected, %v", kept, len(sink.result), len(want), err)
		}
		job.Kept = 4
		if err := r.remote.Run(t.Context(), job, &stats); !errors.Is(err, joincore.ErrInvalid) {
			t.Errorf("an input that does not exist is kept: %v", err)
		}
		free()
	}
	mirrored := mirrorOf(t, text, 1)
	job, free := r.job(suite.PairPlan(plain, whole), []*joincore.Relation{plain, whole}, nil)
	defer free()
	checked, err := decoded.PlanFor(2)
	if err != nil {
		t.Fatal(err)
	}
	want, err := oracle.Run(&joincore.Plan{Inputs: checked.Inputs, Root: checked.Root, Output: checked.Output}, []*joincore.Relation{plain, whole})
	if err != nil {
		t.Fatal(err)
	}
	sink := newSink(r.account, suite.PairPlan(plain, whole), 100)
	job.Text, job.Kept, job.Sink = mirrored, 0, sink
	var stats joincore.Stats
	if err := r.remote.Run(t.Context(), job, &stats); err != nil || !maps.Equal(sink.result, want) {
		t.Errorf("a mirrored input: %d rows, %d expected, %v", len(sink.result), len(want), err)
	}
}

// mirrorOf makes an input of a job, which may be kept, a mirrored one.
func mirrorOf(t *testing.T, text []byte, input int) []byte {
	t.Helper()
	var job map[string]any
	if err := json.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	inputs := job["static"].(map[string]any)["inputs"].([]any)
	in := inputs[input].(map[string]any)
	names := make([]string, len(in["columns"].([]any)))
	for i := range names {
		names[i] = "c"
	}
	in["feed"], in["mirror"] = "mirror", map[string]any{"schema": "s", "table": "t", "columns": names, "text": []int{}}
	tokens := make([]any, len(inputs))
	tokens[input] = "token"
	job["runtime"].(map[string]any)["mirrors"] = tokens
	out, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
