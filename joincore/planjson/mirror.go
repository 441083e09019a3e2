package planjson

import "fmt"

// Limits of what a job says of mirrored inputs.
const (
	maxToken  = 64
	maxSample = 1 << 26 // rows
)

// mirrorOf reads which table a mirrored input is; nil: it is fed.
func mirrorOf(w *wireInput) (*Mirror, error) {
	m := w.Mirror
	if (m != nil) != (w.Feed == "mirror") {
		return nil, fmt.Errorf("mirror: inputs with the feed mirror, and no others, have it")
	}
	switch {
	case m == nil:
		return nil, nil
	case w.Kept == nil:
		return nil, fmt.Errorf("kept: an input with the feed mirror must have it")
	case m.Schema == "" || m.Table == "":
		return nil, fmt.Errorf("mirror: schema and table must not be empty")
	case len(m.Columns) != len(w.Columns):
		return nil, fmt.Errorf("mirror.columns: has %d names, the input %d columns", len(m.Columns), len(w.Columns))
	}
	out := &Mirror{Schema: m.Schema, Table: m.Table, Columns: m.Columns, Text: make([]bool, len(m.Columns))}
	for i, name := range m.Columns {
		if name == "" {
			return nil, fmt.Errorf("mirror.columns[%d]: must not be empty", i)
		}
	}
	for i, at := range m.Text {
		if at < 0 || at >= len(out.Text) || out.Text[at] {
			return nil, fmt.Errorf("mirror.text[%d]: there is no column %d, or it is named twice", i, at)
		}
		out.Text[at] = true
	}
	return out, nil
}

// addMirrors reads the pins of mirrored inputs, and how many rows of them are wanted.
func (j *Job) addMirrors(w *wireRuntime) error {
	if w.Mirrors != nil && len(w.Mirrors) != len(j.Inputs) {
		return fmt.Errorf("runtime.mirrors: has %d entries for %d inputs", len(w.Mirrors), len(j.Inputs))
	}
	for i := range j.Inputs {
		var token *string
		if w.Mirrors != nil {
			token = w.Mirrors[i]
		}
		m := j.Inputs[i].Mirror
		switch {
		case (token != nil) != (m != nil):
			return fmt.Errorf("runtime.mirrors: mirrored inputs, and no others, have a token; not so input %d", i)
		case m == nil:
		case *token == "" || len(*token) > maxToken:
			return fmt.Errorf("runtime.mirrors[%d]: a token has 1 to %d characters", i, maxToken)
		default:
			m.Token = *token
		}
	}
	if s := w.Sample; s != nil {
		if s.Rows < 1 || s.Rows > maxSample {
			return fmt.Errorf("runtime.sample.rows: must be 1 to %d, not %d", maxSample, s.Rows)
		}
		if j.mirrored() == 0 {
			return fmt.Errorf("runtime.sample: the job has no mirrored input")
		}
		j.Sample = &Sample{s.Rows, s.Seed}
	}
	return nil
}

// mirrored returns the bits of the mirrored inputs.
func (j *Job) mirrored() (mask uint64) {
	for i := range j.Inputs {
		if j.Inputs[i].Mirror != nil {
			mask |= 1 << i
		}
	}
	return mask
}
