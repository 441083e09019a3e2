package sidecar

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/foreign"
	"gpujoin/sidecar/memory"
)

// mirrorPin is a hold on a position of a foreign server.
type mirrorPin interface {
	Direct(schema, table string) bool
	Read(context.Context, foreign.Read) (*foreign.Rows, error)
	Release()
}

// findPin returns the pin of a token.
func (srv *Server) findPin(token string, from foreign.Peer) (mirrorPin, error) {
	return srv.sources.Find(token, from)
}

// mirrorInputs are the inputs of a job that nobody feeds: tables of foreign servers. The job
// holds their pins from OPEN on. The rows are read when the job runs, or when a filter of their
// keys is to be made.
type mirrorInputs struct {
	pins map[string]mirrorPin // by token; does not change
	done chan struct{}        // closed when the rows have been read, or why not

	// Guarded by job.mu.
	begun bool
	users int // the job, and the filters that are being made

	err  error // once done
	took time.Duration

	mu      sync.Mutex
	extents []*memory.Extent
}

// pinMirrors takes hold of the pins of all mirrored inputs.
func (j *job) pinMirrors() error {
	for i := range j.inputs {
		m := j.inputs[i].Mirror
		if m == nil {
			continue
		}
		if j.mirrors == nil {
			j.mirrors = &mirrorInputs{pins: map[string]mirrorPin{}, done: make(chan struct{}), users: 1}
		}
		if j.mirrors.pins[m.Token] != nil {
			continue
		}
		pin, err := j.srv.options.pinOf(m.Token, foreign.Peer{Cluster: j.cluster, Database: j.database})
		if err != nil {
			return err
		}
		j.mirrors.pins[m.Token] = pin
	}
	return nil
}

// pinOf returns the pin of a mirrored input.
func (j *job) pinOf(input int) mirrorPin { return j.mirrors.pins[j.inputs[input].Mirror.Token] }

// mirrorExtents estimates the extents of a mirrored input, whose rows take row bytes each: none if
// the mirror has them.
func (j *job) mirrorExtents(input int, row float64) float64 {
	m, rows := j.inputs[input].Mirror, j.plan.Inputs[input].Rows
	if j.decoded.Sample != nil {
		rows = math.Min(rows, float64(j.decoded.Sample.Rows))
	} else if !j.pinOf(input).Direct(m.Schema, m.Table) {
		return 0
	}
	return math.Ceil(rows*row/float64(j.srv.store.ExtentSize())) + 1
}

// readMirrors begins to read all mirrored inputs, once. The caller holds j.mu.
func (j *job) readMirrors() {
	m := j.mirrors
	if m.begun {
		return
	}
	m.begun = true
	j.making.Go(func() {
		start := time.Now()
		err := j.readAll()
		j.mu.Lock()
		defer j.mu.Unlock()
		m.err, m.took = err, time.Since(start)
		close(m.done)
	})
}

// readAll reads the inputs one after the other: those of one snapshot share a connection, and copies
// of mirrors use all cores. It turns panics into errors.
func (j *job) readAll() (err error) {
	defer func() {
		if p := recover(); p != nil {
			j.srv.log.Error("reading a foreign server panicked", "job", j.id, "panic", p, "stack", string(debug.Stack()))
			err = failf(shm.FailInternal, "internal error of the daemon")
		}
	}()
	for i := range j.inputs {
		if j.inputs[i].Mirror == nil {
			continue
		}
		rows, err := j.pinOf(i).Read(j.ctx, j.mirrorRead(i))
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		j.mu.Lock()
		j.fed[i].relation.Segments = rows.Relation.Segments
		j.rowsIn += rows.Total
		j.bytesIn += rows.Bytes
		j.mu.Unlock()
	}
	return nil
}

// mirrorRead says what is read of a mirrored input.
func (j *job) mirrorRead(input int) foreign.Read {
	in := &j.inputs[input]
	r := foreign.Read{
		Schema: in.Mirror.Schema, Table: in.Mirror.Table, Extent: j.mirrorExtent, ExtentSize: int(j.srv.store.ExtentSize()),
	}
	physical := j.decoded.Columns(input)
	for i, c := range in.Columns {
		r.Columns = append(r.Columns, foreign.Column{
			Name: in.Mirror.Columns[i], Type: c.Type, Typmod: c.Typmod, Text: in.Mirror.Text[i], Form: c.Form, Scale: c.Scale, Physical: physical[i],
		})
	}
	r.Condition, r.Parameters = j.decoded.Condition(input)
	if s := j.decoded.Sample; s != nil {
		r.Sample = &foreign.Sample{Rows: s.Rows, Seed: s.Seed}
	}
	return r
}

// mirrorExtent returns an extent of the job's for rows of mirrored inputs.
func (j *job) mirrorExtent() ([]byte, error) {
	e, err := j.account.Extent(false)
	if err != nil {
		return nil, err
	}
	m := j.mirrors
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extents = append(m.extents, e)
	return e.Data, nil
}

// wait returns when all mirrored inputs have been read.
func (m *mirrorInputs) wait(ctx context.Context) error {
	if m == nil {
		return nil
	}
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readMirror returns the rows of a mirrored input that is being read.
func (j *job) readMirror(input int) (joincore.Relation, error) {
	if err := j.mirrors.wait(j.ctx); err != nil {
		return joincore.Relation{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fed[input].relation, nil
}

// readTime is how long reading mirrored inputs has taken. The caller holds j.mu.
func (j *job) readTime() time.Duration {
	if j.mirrors == nil {
		return 0
	}
	return j.mirrors.took
}

// release ends a use. The last one ends the hold on the pins, and frees what was read directly.
func (m *mirrorInputs) release() {
	if m.users--; m.users > 0 {
		return
	}
	for _, e := range m.extents {
		e.Release()
	}
	m.extents = nil
	for pin := range maps.Values(m.pins) {
		pin.Release()
	}
}

// freeMirrors ends the job's use of its mirrored inputs, once. The caller holds j.mu and ensures
// that no join reads them.
func (j *job) freeMirrors() {
	if m := j.mirrors; m != nil && !j.mirrorsFreed {
		j.mirrorsFreed = true
		m.release()
	}
}

// mirrored reports whether nobody feeds an input.
func mirrored(in *planjson.Input) bool { return in.Mirror != nil }
