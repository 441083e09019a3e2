package planjson

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gpujoin/joincore"
)

// Decode decodes and validates a job from its JSON. Errors wrap ErrMalformed or
// ErrVersion and name the invalid member.
func Decode(b []byte) (*Job, error) {
	if err := checkShape(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	// Check the version first and separately: members of a later version must
	// not be reported as unknown members of this one.
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%w: %d; this daemon supports version %d", ErrVersion, head.Version, Version)
	}
	var w wireJob
	if err := decodeStrict(b, &w); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	job, err := build(&w)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	job.Text = bytes.Clone(b)
	return job, nil
}

// decodeStrict decodes JSON that has no other members than those of to.
func decodeStrict(b []byte, to any) error {
	return json.Unmarshal(b, to, json.RejectUnknownMembers(true))
}

func build(w *wireJob) (*Job, error) {
	if w.Static == nil || w.Runtime == nil {
		return nil, fmt.Errorf("static and runtime are required")
	}
	job := &Job{
		plan:       &joincore.Plan{},
		Generation: w.Runtime.Generation,
		Snapshot:   w.Runtime.Snapshot,
		LSN:        w.Runtime.LSN,
	}
	if err := job.addParameters(w.Runtime.Parameters); err != nil { // conditions of inputs read them
		return nil, err
	}
	if err := job.addInputs(w.Static.Inputs); err != nil {
		return nil, err
	}
	if err := job.addMirrors(w.Runtime); err != nil {
		return nil, err
	}
	if name := w.Runtime.Algorithm; name != nil {
		var ok bool
		if job.plan.Algorithm, ok = joincore.ParseAlgorithm(*name); !ok {
			return nil, fmt.Errorf("runtime.algorithm: unknown algorithm %q", *name)
		}
	}
	root := w.Static.Root
	if root == nil || root.Op != "project" || root.Child == nil {
		return nil, fmt.Errorf("root: must be a project with a child")
	}
	if err := root.only("columns", "child"); err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	var err error
	if job.plan.Root, err = job.node(root.Child); err != nil {
		return nil, fmt.Errorf("root.child: %w", err)
	}
	if len(root.Columns) > MaxColumns {
		return nil, fmt.Errorf("root.columns: has %d columns, may have at most %d", len(root.Columns), MaxColumns)
	}
	if job.plan.Output, err = columns(root.Columns); err != nil {
		return nil, fmt.Errorf("root.columns%w", err)
	}
	if job.Plan, err = joincore.Check(job.plan); err != nil { // hidden columns do not exist in this one
		return nil, err
	}
	if mirrored := job.mirrored(); mirrored != 0 {
		if job.Plan, err = job.planFor(mirrored); err != nil {
			return nil, err
		}
	}
	if _, err := job.PlanFor(job.all()); err != nil { // each input's condition is checked for itself
		return nil, err
	}
	for i, c := range job.Plan.Output {
		if job.keyOnly(c) {
			return nil, fmt.Errorf("root.columns[%d]: a column with the role key cannot be returned", i)
		}
	}
	return job, job.addFilters(w.Static.Filters)
}

func (j *Job) addParameters(raw []jsontext.Value) error {
	if len(raw) > MaxParameters {
		return fmt.Errorf("runtime.parameters: has %d, may have at most %d", len(raw), MaxParameters)
	}
	for i, r := range raw {
		if len(r) > 0 && r[0] == '"' {
			if err := j.addText(r); err != nil {
				return fmt.Errorf("runtime.parameters[%d]: %w", i, err)
			}
			continue
		}
		var v *int64
		if err := json.Unmarshal(r, &v); err != nil {
			return fmt.Errorf("runtime.parameters[%d]: %v", i, err)
		}
		if v == nil {
			j.plan.Parameters = append(j.plan.Parameters, joincore.Parameter{Null: true})
		} else {
			j.plan.Parameters = append(j.plan.Parameters, joincore.Parameter{Int: *v})
		}
	}
	return nil
}

// addText adds a parameter that is a text. Expressions contain its bytes like those
// of a constant; to others it is NULL.
func (j *Job) addText(raw jsontext.Value) error {
	var digits string
	if err := json.Unmarshal(raw, &digits); err != nil {
		return err
	}
	text, err := hex.DecodeString(digits)
	if err != nil {
		return err
	}
	if j.texts == nil {
		j.texts = map[int][]byte{}
	}
	j.texts[len(j.plan.Parameters)] = text
	j.plan.Parameters = append(j.plan.Parameters, joincore.Parameter{Null: true})
	return nil
}

// parameter returns the value of a parameter: a text, or an integer.
func (j *Job) parameter(i int, isText bool) (joincore.Value, error) {
	text, ok := j.texts[i]
	switch {
	case i < 0 || i >= len(j.plan.Parameters):
		return nil, fmt.Errorf("no parameter %d", i)
	case isText && ok:
		return &joincore.Text{Bytes: text}, nil
	case isText && j.plan.Parameters[i].Null:
		return joincore.Null{}, nil
	case isText || ok:
		return nil, fmt.Errorf("parameter %d is of another type", i)
	}
	return joincore.ParameterIndex(i), nil
}

// checkShape scans the tokens of b once, before any structure is built, and rejects what
// would take much work to reject later: deep nesting and many objects. The decoder itself
// rejects invalid UTF-8, bytes after the end, names that occur twice and names in other letters.
func checkShape(b []byte) error {
	if len(b) > MaxBytes {
		return fmt.Errorf("has %d bytes, may have at most %d", len(b), MaxBytes)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b)) // reads a Buffer's bytes where they lie
	objects := 0
	for first := true; first || dec.StackDepth() > 0; first = false {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if tok.Kind() == jsontext.KindBeginObject {
			objects++
		}
		if objects > MaxObjects {
			return fmt.Errorf("more than %d objects", MaxObjects)
		}
		if dec.StackDepth() > MaxDepth {
			return fmt.Errorf("nested deeper than %d", MaxDepth)
		}
	}
	return nil
}

func (j *Job) addInputs(inputs []wireInput) error {
	if len(inputs) == 0 || len(inputs) > MaxInputs {
		return fmt.Errorf("static.inputs: has %d inputs, must have 1 to %d", len(inputs), MaxInputs)
	}
	for i := range inputs {
		if err := j.addInput(&inputs[i]); err != nil {
			return fmt.Errorf("static.inputs[%d]: %w", i, err)
		}
	}
	return nil
}

func (j *Job) addInput(w *wireInput) error {
	if w.Feed != "page" && w.Feed != "child" && w.Feed != "mirror" {
		return fmt.Errorf("feed: must be page, child or mirror, not %q", w.Feed)
	}
	if !estimate(w.Rows) || !estimate(w.RowBytes) {
		return fmt.Errorf("rows, row_bytes: must be finite and not negative")
	}
	if len(w.Columns) == 0 || len(w.Columns) > MaxColumns {
		return fmt.Errorf("columns: has %d columns, must have 1 to %d", len(w.Columns), MaxColumns)
	}
	in := Input{Database: w.Database, Relation: w.Relation, Name: w.Name, Feed: w.Feed, RowBytes: w.RowBytes}
	physical := joincore.Input{Rows: w.Rows}
	for i := range w.Columns {
		c := &w.Columns[i]
		p, err := c.physical()
		if err != nil {
			return fmt.Errorf("columns[%d]: %w", i, err)
		}
		if c.Role != "value" && c.Role != "key" {
			return fmt.Errorf("columns[%d]: role: must be value or key, not %q", i, c.Role)
		}
		physical.Columns = append(physical.Columns, p)
		in.Columns = append(in.Columns, Column{
			Attnum: c.Attnum, Type: c.Type, Typmod: c.Typmod, Collation: c.Collation, KeyOnly: c.Role == "key",
		})
	}
	kept, err := j.keptForm(w, &in, physical.Columns)
	if err != nil {
		return err
	}
	if in.Mirror, err = mirrorOf(w); err != nil {
		return err
	}
	physical.Columns = physical.Columns[:len(physical.Columns)-in.Hidden]
	j.Inputs = append(j.Inputs, in)
	j.kept = append(j.kept, kept)
	j.plan.Inputs = append(j.plan.Inputs, physical)
	return nil
}

func (c *wireColumn) physical() (joincore.Column, error) {
	switch c.Encoding {
	case "fixed":
		column := joincore.Column{Kind: joincore.Fixed, Width: c.Width, Align: c.Align}
		if column.StoredWidth() == 0 {
			return joincore.Column{}, fmt.Errorf("width: a fixed column cannot have %d bytes", c.Width)
		}
		if c.Align != 1 && c.Align != 2 && c.Align != 4 && c.Align != 8 {
			return joincore.Column{}, fmt.Errorf("align: must be 1, 2, 4 or 8, not %d", c.Align)
		}
		return column, nil
	case "varlena":
		if c.Width != 0 || (c.Align != 4 && c.Align != 8) {
			return joincore.Column{}, fmt.Errorf("a varlena column must have width 0 and align 4 or 8, not %d and %d", c.Width, c.Align)
		}
		return joincore.Column{Kind: joincore.Varlena, Align: c.Align}, nil
	}
	return joincore.Column{}, fmt.Errorf("encoding: must be fixed or varlena, not %q", c.Encoding)
}

func estimate(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }
