package foreign

import (
	"context"
	"slices"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// mirrorAnswer answers MIRROR.
type mirrorAnswer struct {
	Tables []mirrorState `json:"tables"`
}

type mirrorState struct {
	State  source.State `json:"state"`
	Rows   int64        `json:"rows"`
	Reason string       `json:"reason"`
	Error  *errorAnswer `json:"error,omitempty"` // why the table has no mirror
}

var errNoMirrors = &source.Error{SQLState: "55000", Message: "gpujoind mirrors no tables", Hint: "set mirror-memory in its configuration"}

// mirror asks for mirrors of tables, and waits for them if that is wanted.
func (e *entry) mirror(ctx context.Context, r *request) (any, error) {
	if e.limit == 0 {
		return nil, errNoMirrors
	}
	names := r.names()
	e.session.Mirror(names...)
	if r.Wait != 0 {
		waiting, cancel := ctx, context.CancelFunc(func() {})
		if r.Wait > 0 {
			waiting, cancel = context.WithTimeout(ctx, time.Duration(r.Wait)*time.Millisecond)
		}
		defer cancel()
		for _, n := range names {
			_ = e.session.Wait(waiting, n) // the status has its reason
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	status := e.session.Status()
	out := mirrorAnswer{Tables: make([]mirrorState, len(names))}
	for i, n := range names {
		t := &out.Tables[i]
		t.State = source.StateLoading
		for _, s := range status.Tables {
			if s.Name == n {
				t.State, t.Rows = s.State, s.Rows
			}
		}
		if found, state, rows := e.mirrors.Find(n.Schema, n.Table); found != nil && state == mirror.StateReady {
			t.Rows = rows
		}
		if t.State != source.StateReady {
			t.Reason, _ = e.unready(n)
			if why := e.failure(n); why != nil {
				t.Error = answerOf(source.OfTable(n, why))
			}
		}
		if status.State == source.StateFailed {
			t.State = source.StateFailed
		}
	}
	return out, nil
}

// sizeAnswer answers SIZE.
type sizeAnswer struct {
	Tables []tableSize `json:"tables"`
}

type tableSize struct {
	Rows  int64 `json:"rows"` // -1: unknown
	Bytes int64 `json:"bytes"`
}

// sizeTime bounds SIZE: planners wait for it.
const sizeTime = 2 * time.Second

// size returns the sizes of tables: the mirrors', else those of the source's catalogue.
func (e *entry) size(ctx context.Context, r *request) (any, error) {
	out := sizeAnswer{Tables: make([]tableSize, len(r.Tables))}
	var unknown []source.Name
	for i, n := range r.names() {
		t := &out.Tables[i]
		found, state, rows := e.mirrors.Find(n.Schema, n.Table)
		if found == nil || state != mirror.StateReady {
			unknown = append(unknown, n)
			t.Rows = -1
			continue
		}
		t.Rows, t.Bytes = rows, e.mirrors.TableBytes(found.OID)
	}
	if len(unknown) == 0 {
		return out, nil
	}
	bounded, cancel := context.WithTimeout(ctx, sizeTime)
	defer cancel()
	tables, err := e.session.Describe(bounded, unknown...)
	if err != nil {
		return nil, err
	}
	for i, n := range r.names() {
		for _, t := range tables {
			if t.Name == n && out.Tables[i].Rows < 0 {
				out.Tables[i] = tableSize{int64(t.Rows), t.Bytes}
			}
		}
	}
	return out, nil
}

// importAnswer answers IMPORT.
type importAnswer struct {
	Tables []importTable `json:"tables"`
}

type importTable struct {
	Name    string         `json:"name"`
	Comment string         `json:"comment"`
	Columns []importColumn `json:"columns"`
}

type importColumn struct {
	Name      string `json:"name"`
	Type      string `json:"type"`      // as format_type writes it
	Collation string `json:"collation"` // "": none, or the type's
	NotNull   bool   `json:"not_null"`
	Comment   string `json:"comment"`
}

// importSchema describes the tables of a schema.
func (e *entry) importSchema(ctx context.Context, r *request) (any, error) {
	names, err := e.session.List(ctx, r.Schema)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n source.Name) bool {
		return r.Only != nil && !slices.Contains(r.Only, n.Table) || slices.Contains(r.Except, n.Table)
	})
	out := importAnswer{Tables: []importTable{}}
	tables, err := e.session.Describe(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		described := importTable{Name: t.Name.Table, Comment: t.Comment, Columns: []importColumn{}}
		for _, c := range t.Columns {
			if !c.Dropped {
				described.Columns = append(described.Columns, importColumn{c.Name, c.TypeName, c.CollationName, c.NotNull, c.Comment})
			}
		}
		out.Tables = append(out.Tables, described)
	}
	return out, nil
}
