package planjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"gpujoin/joincore"
)

// Decode decodes and validates a job from its JSON. Errors wrap ErrMalformed or
// ErrVersion and name the invalid member.
func Decode(b []byte) (*Job, error) {
	if err := checkShape(b); err != nil {
		return nil, err
	}
	// Check the version first and separately: members of a later version must
	// not be reported as unknown members of this one.
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
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
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
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
	if err := job.addInputs(w.Static.Inputs); err != nil {
		return nil, err
	}
	if err := job.addParameters(w.Runtime.Parameters); err != nil {
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
	if job.Plan, err = joincore.Check(job.plan); err != nil {
		return nil, err
	}
	for i, c := range job.Plan.Output {
		if job.keyOnly(c) {
			return nil, fmt.Errorf("root.columns[%d]: a column with the role key cannot be returned", i)
		}
	}
	return job, job.addFilters(w.Static.Filters)
}

func (j *Job) addParameters(raw []json.RawMessage) error {
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
func (j *Job) addText(raw json.RawMessage) error {
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
