package worker

import (
	"errors"
	"log/slog"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/program"
	"gpujoin/sidecar/executor"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// TestCheckEncodesNothing: only a run looks at its plan as text.
func TestCheckEncodesNothing(t *testing.T) {
	r := &Remote{}
	relation := suite.Keyed(10, func(row int) uint64 { return uint64(row) })
	plan := suite.Checked(t, suite.PairPlan(relation, relation))
	if n := testing.AllocsPerRun(10, func() {
		if err := r.Check(plan); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a check allocates %v objects", n)
	}
}

// TestPlansThatTheWorkerCannotRun: cores run a plan that the child's provider refuses, and the child
// never sees it.
func TestPlansThatTheWorkerCannotRun(t *testing.T) {
	relation := suite.Keyed(500, func(row int) uint64 { return uint64(row) })
	inputs := []*joincore.Relation{relation, relation}
	in := &joincore.In{Arg: joincore.ColumnRef{}, Ints: []int64{1, 7, 400}}
	like := &joincore.Like{Arg: &joincore.Text{Bytes: []byte("a")}, Pattern: []byte("%"), Encoding: joincore.UTF8}
	less := &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{}, Right: joincore.Int(9)}
	refuses := func(*joincore.Checked) error { return joincore.ErrUnsupported }
	for name, c := range map[string]struct {
		residual joincore.Expr
		check    func(*joincore.Checked) error
		by       string
	}{
		"comparison":                     {less, nil, "test"},
		"list":                           {in, nil, "test"},
		"list that is not refused":       {in, program.CheckPlan, "test"},
		"bytes":                          {like, nil, "test"},
		"bytes that are refused":         {like, program.CheckPlan, "cpu"},
		"comparison that is refused":     {less, refuses, "cpu"},
		"comparison that is not refused": {less, program.CheckPlan, "test"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "cpu", func(config *Config) { config.Check = c.check }).ready()
			plan := suite.PairPlan(relation, relation)
			plan.Root.(*joincore.Join).Residual = c.residual
			checked := suite.Checked(t, plan)
			if err := r.remote.Check(checked); (err == nil) != (c.by == "test") || err != nil && !errors.Is(err, joincore.ErrUnsupported) {
				t.Errorf("check: %v", err)
			}
			want, err := oracle.Run(plan, inputs)
			if err != nil {
				t.Fatal(err)
			}
			by := ""
			sink := suite.NewCollector(plan, 100)
			if c.by == "cpu" { // the child would need batches in extents
				local := executor.NewLocal(cpu.New(), func() exec.Options { return exec.Options{} }, "cores")
				set := executor.NewSet(local, executor.Policy{}, slog.New(slog.DiscardHandler), r.remote)
				job := &executor.Job{Plan: checked, Inputs: inputs, Memory: r.account, Sink: sink, Begin: func(provider, _ string) { by = provider }}
				if err := set.Run(t.Context(), job, &joincore.Stats{}); err != nil {
					t.Fatal(err)
				}
				if by != c.by {
					t.Errorf("run by %q, not %q", by, c.by)
				}
				if diff := sink.Difference(want); diff != "" {
					t.Error(diff)
				}
				return
			}
			r.compare(name, plan, inputs, 100)
		})
	}
}
