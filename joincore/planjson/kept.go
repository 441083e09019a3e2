package planjson

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
)

// keptForm is what an input has in addition when its columns come from those that the daemon
// has kept. Kept rows are all rows of the table, so the input's condition is evaluated here.
type keptForm struct {
	columns   []joincore.Column // the fed ones, then the hidden ones
	condition joincore.Expr     // nil: none
}

// keptForm reads which columns of an input are hidden, and its condition. It sets those
// members of in that only inputs have that may be kept.
func (j *Job) keptForm(w *wireInput, in *Input, columns []joincore.Column) (out keptForm, err error) {
	for i := range w.Columns {
		c := &w.Columns[i]
		if (c.Form != nil) != (w.Kept != nil) || (c.Scale != nil) != (w.Kept != nil) {
			return out, fmt.Errorf("columns[%d]: the columns of an input that may be kept, and no others, have form and scale", i)
		}
		if w.Kept != nil {
			in.Columns[i].Form, in.Columns[i].Scale = *c.Form, *c.Scale
		}
	}
	if w.Kept == nil {
		return out, nil
	}
	if w.Feed == "child" {
		return out, fmt.Errorf("kept: the columns of an input with the feed %s cannot be kept", w.Feed)
	}
	if w.Kept.Hidden < 0 || w.Kept.Hidden >= len(columns) {
		return out, fmt.Errorf("kept.hidden: must be 0 to %d, not %d: at least one column is fed", len(columns)-1, w.Kept.Hidden)
	}
	in.Kept, in.Hidden = w.Feed == "page", w.Kept.Hidden
	out.columns = slices.Clone(columns)
	if w.Kept.Condition != nil {
		if out.condition, err = j.expr(w.Kept.Condition); err != nil {
			return out, fmt.Errorf("kept.condition: %w", err)
		}
	}
	return out, nil
}

// all returns the bits of the inputs that may be kept.
func (j *Job) all() (kept uint64) {
	for i := range j.Inputs {
		if j.Inputs[i].Kept {
			kept |= 1 << i
		}
	}
	return kept
}

// PlanFor returns the plan of which the inputs whose bit is set come from kept columns: bit i
// is that of input i. Such an input has its hidden columns too, behind the others, and its
// condition is evaluated above its scan. So it is with mirrored inputs, whether their bits are
// set or not. PlanFor(0) is Plan. The error names an input that does not exist, or that may not
// be kept.
func (j *Job) PlanFor(kept uint64) (*joincore.Checked, error) {
	mirrored := j.mirrored()
	if kept&^mirrored == 0 {
		return j.Plan, nil
	}
	if other := kept &^ mirrored &^ j.all(); other != 0 {
		return nil, fmt.Errorf("%w: inputs %b may not be kept", joincore.ErrInvalid, other)
	}
	return j.planFor(kept | mirrored)
}

// planFor returns the plan in which the given inputs have all their columns, and their conditions.
func (j *Job) planFor(kept uint64) (*joincore.Checked, error) {
	plan := *j.plan
	plan.Inputs = slices.Clone(j.plan.Inputs)
	for i := range plan.Inputs {
		if kept>>i&1 != 0 {
			plan.Inputs[i].Columns = j.kept[i].columns
		}
	}
	plan.Root = j.filtered(plan.Root, kept)
	return joincore.Check(&plan)
}

// filtered returns a tree with the conditions of kept inputs above their scans. Nodes are
// copied; what they read is shared with the original.
func (j *Job) filtered(n joincore.Node, kept uint64) joincore.Node {
	switch n := n.(type) {
	case *joincore.Scan:
		if kept>>n.Input&1 != 0 && j.kept[n.Input].condition != nil {
			return &joincore.Filter{Child: n, Predicate: j.kept[n.Input].condition}
		}
	case *joincore.Filter:
		return &joincore.Filter{Child: j.filtered(n.Child, kept), Predicate: n.Predicate}
	case *joincore.Join:
		c := *n
		c.Left, c.Right = j.filtered(n.Left, kept), j.filtered(n.Right, kept)
		return &c
	case *joincore.Aggregate:
		c := *n
		c.Child = j.filtered(n.Child, kept)
		return &c
	}
	return n
}

// Columns returns the physical columns of an input when it is kept or mirrored: the fed ones,
// then the hidden ones.
func (j *Job) Columns(input int) []joincore.Column { return j.kept[input].columns }

// Passing returns a plan with one input, the given one as it is when it is kept, which returns
// a column of the rows that pass the input's condition. nil: it has none, so all pass.
func (j *Job) Passing(input, column int) (*joincore.Checked, error) {
	of := &j.kept[input]
	if of.condition == nil {
		return nil, nil
	}
	condition, parameters := j.Condition(input)
	return joincore.Check(&joincore.Plan{
		Inputs:     []joincore.Input{{Columns: of.columns, Rows: j.plan.Inputs[input].Rows}},
		Root:       &joincore.Filter{Child: &joincore.Scan{}, Predicate: condition},
		Output:     []joincore.ColumnRef{{Column: column}},
		Parameters: parameters,
	})
}

// Condition returns the condition of an input that is kept or mirrored, as one on the columns of
// input 0, and the parameters that it reads. nil: it has none.
func (j *Job) Condition(input int) (joincore.Expr, []joincore.Parameter) {
	return joincore.MapColumns(j.kept[input].condition, func(c joincore.ColumnRef) joincore.ColumnRef {
		return joincore.ColumnRef{Column: c.Column}
	}), j.plan.Parameters
}
