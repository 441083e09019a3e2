package joincore

import "fmt"

// Schema describes the columns of all inputs of a plan by their numbers: the
// base inputs, then the derived ones.
type Schema [][]Column

// Column describes a column of an input that the schema has.
func (s Schema) Column(c ColumnRef) Column { return s[c.Input][c.Column] }

// Schema returns the columns of all inputs of the plan. Errors wrap ErrInvalid:
// derived inputs are not numbered one after the other, or a key, a carried
// column or a function of an aggregate is not valid. Whether columns are
// visible where they are read is not checked.
func (p *Plan) Schema() (Schema, error) {
	all := Aggregates(p.Root)
	s := make(Schema, len(p.Inputs)+len(all))
	for i := range p.Inputs {
		s[i] = p.Inputs[i].Columns
	}
	for _, a := range all {
		if a.ID < len(p.Inputs) || a.ID >= len(s) || s[a.ID] != nil {
			return nil, fmt.Errorf("%w: derived input %d of %d inputs and %d aggregates", ErrInvalid, a.ID, len(p.Inputs), len(all))
		}
		columns, err := a.Columns(p.Scope(s.lookUp))
		if err != nil {
			return nil, fmt.Errorf("aggregate %d: %w", a.ID, err)
		}
		s[a.ID] = columns
	}
	return s, nil
}

// Scope returns the scope of expressions of the plan where column describes
// the columns that they may read.
func (p *Plan) Scope(column func(ColumnRef) (Column, error)) *Scope {
	return &Scope{Column: column, Derived: p.Derived, Parameters: len(p.Parameters)}
}

// Derived reports whether an input is the result of an aggregate: of the plan, or of
// an earlier one.
func (p *Plan) Derived(input int) bool { return input >= len(p.Inputs) || p.Inputs[input].Derived }

func (s Schema) lookUp(c ColumnRef) (Column, error) {
	if c.Input < 0 || c.Input >= len(s) || c.Column < 0 || c.Column >= len(s[c.Input]) {
		return Column{}, fmt.Errorf("%w: no column %v", ErrInvalid, c)
	}
	return s.Column(c), nil
}
