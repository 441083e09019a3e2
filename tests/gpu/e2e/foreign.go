package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

// foreignResult is what was measured of a query: cores and CUDA over foreign tables.
type foreignResult struct {
	Stage      string
	Query      string
	Tables     string
	Rows       int     // of the result
	NativeMs   float64 // at the source, once
	CPU        *times
	CUDA       *times
	Read       [2]*tablesRead // by cores, by CUDA
	Equal      bool
	Difference string
	Phases     map[string]float64 // ms on CUDA, of all joins
	Device     int64              // of all mirrors, afterwards
}

// results returns the query as results of a document: by PostgreSQL at the source, if that was
// measured, by cores and by CUDA.
func (q *foreignResult) results() []measure.Result {
	name := fmt.Sprintf("%s, %s, %s", q.Query, q.Tables, q.Stage)
	var list []measure.Result
	if q.NativeMs > 0 {
		list = append(list, measure.Result{Name: name, Engine: measure.Postgres, Ms: []float64{q.NativeMs}, Rows: q.Rows})
	}
	for i, t := range []*times{q.CPU, q.CUDA} {
		m, read := t.result(query{name: name}, engines[i+1], q.Rows), q.Read[i]
		m.Equal, m.Texts["stage"], m.Texts["tables"] = &q.Equal, q.Stage, q.Tables
		for what, n := range map[string]int{"mirrored": read.Mirrored, "direct": read.Direct, "kept": read.Kept, "fed": read.Fed} {
			m.Values["tables_"+what] = float64(n)
		}
		if engines[i+1] == measure.GPU {
			m.Values["device_bytes"] = float64(q.Device)
			for phase, ms := range q.Phases {
				m.Values[phase+"_ms"] = measure.Round(ms, 3)
			}
		}
		list = append(list, m)
	}
	return list
}

// document returns all queries, and the mirrors in each stage, as results of a document.
func (r *foreignRun) document() (list []measure.Result) {
	for _, q := range r.results {
		list = append(list, q.results()...)
	}
	for _, m := range r.mirrors {
		list = append(list, m.result())
	}
	return list
}

// tablesRead says where the rows of a plan's tables came from.
type tablesRead struct {
	Mirrored int // foreign tables
	Direct   int // foreign tables that the source was asked for
	Why      []string
	Kept     int // inputs of local tables of which all blocks were served
	Fed      int // inputs of local tables of which some or all blocks were fed
}

// placement is where the tables of a query are.
type placement struct {
	name string
	path string // in which sessions find them
	keep string // the columns of local tables
}

// The first one is measured; the others are executed once, and compared.
var placements = []placement{
	{"foreign", "src", "off"},
	{"foreign and kept", "here, src", "auto"},
	{"foreign and fed", "here, src", "off"},
}

// foreignRuns is how often each query over foreign tables alone is measured in each mode.
const foreignRuns = 3

// foreignRun is the state of runForeign.
type foreignRun struct {
	*world
	begin   time.Time
	queries []query
	results []*foreignResult
	mirrors []*mirrorsResult
}

// runForeign compares cores with CUDA over foreign tables, with native plans at their source:
// after the load, after changes that leave deleted rows in the mirrors, and after changes for
// which these are rewritten. A difference between rows is an error, and so is a table that is
// not read from its mirror; a slow query is not.
func runForeign(ctx context.Context, o options) (err error) {
	o.rows, o.runs, o.devices = int(1_000_000*o.sf), foreignRuns, 1
	r := &foreignRun{begin: time.Now()}
	if r.world, err = newWorld(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if why := r.modes[2].absent; why != "" {
		return fmt.Errorf("CUDA: %s", why)
	}
	if r.queries, err = r.keptQueries(); err != nil {
		return err
	}
	if err := r.fillForeign(ctx); err != nil {
		return err
	}
	for _, s := range r.stages() {
		if err := r.prepareStage(ctx, s); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s.name, err), r.print())
		}
		for _, q := range r.queries {
			if err := r.measureQuery(ctx, s, q); err != nil {
				return errors.Join(fmt.Errorf("%s, %s: %w", s.name, q.name, err), r.print())
			}
			if err := r.run.Save(r.document()); err != nil {
				return err
			}
		}
	}
	if err := r.run.Finish(r.document()); err != nil {
		return err
	}
	return r.print()
}

// measureQuery runs a query natively at the source, and in all placements that differ.
func (r *foreignRun) measureQuery(ctx context.Context, s stage, q query) error {
	begin := time.Now()
	want, err := r.modes[0].session.Query(ctx, q.sql)
	if err != nil {
		return fmt.Errorf("native: %w", err)
	}
	native := measure.Ms(time.Since(begin))
	for i, p := range placements {
		if i > 0 && !readsLocal(q.sql) {
			break
		}
		res := &foreignResult{Stage: s.name, Query: q.name, Tables: p.name, Rows: len(want.Rows), Equal: true}
		if i == 0 {
			res.NativeMs = native
		}
		if err := r.place(ctx, p); err != nil {
			return err
		}
		if err := r.compare(ctx, p, q, res, want); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r.results = append(r.results, res)
		say("%3.0f s  %s, %s, %s: native %.1f ms, cores %.1f ms, CUDA %.1f ms (join %.1f); %v; %s", time.Since(r.begin).Seconds(), s.name, q.name, p.name,
			res.NativeMs, res.CPU.Ms, res.CUDA.Ms, res.CUDA.JoinMs, res.Read[1], res.CUDA.Reason)
		if !res.Equal {
			say("OTHER ROWS: %s", res.Difference)
		}
	}
	return nil
}

// local matches the names of the tables that are local, too.
var local = regexp.MustCompile(`\b(` + strings.Join(localTables, "|") + `)\b`)

func readsLocal(sql string) bool { return local.MatchString(sql) }

// place lets the modes' sessions find the tables of a placement.
func (r *foreignRun) place(ctx context.Context, p placement) error {
	for _, m := range r.modes[1:3] {
		if err := m.session.Exec(ctx, "set search_path = "+p.path+"; set gpujoin.keep = "+p.keep); err != nil {
			return err
		}
	}
	return nil
}

// compare runs a query on cores and on CUDA and compares its rows with those of the source.
func (r *foreignRun) compare(ctx context.Context, p placement, q query, res *foreignResult, want *harness.Result) (err error) {
	res.CPU, res.CUDA = &times{Equal: true}, &times{Equal: true}
	modes, all := r.modes[1:3], []*times{res.CPU, res.CUDA}
	runs := 1
	if p.keep == "auto" {
		for _, m := range modes {
			if _, err := warmKept(ctx, m.session, q.sql); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	} else if p.name == placements[0].name {
		runs = 1 + foreignRuns // the first one brings columns to the device
	}
	var took [2][]float64
	for round := range runs {
		for i, m := range modes {
			begin := time.Now()
			got, err := m.session.Query(ctx, q.sql)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			if round > 0 || runs == 1 {
				took[i] = append(took[i], measure.Ms(time.Since(begin)))
			}
			if d := harness.SameRows(want, got); d != "" && res.Equal {
				res.Equal, res.Difference, all[i].Equal = false, m.name+": "+d, false
			}
		}
	}
	for i, m := range modes {
		all[i].Ms, all[i].Runs = measure.Round(measure.Median(took[i]), 2), took[i]
		plan, err := all[i].explainPlan(ctx, m, q.sql)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		res.Read[i] = readBy(plan)
		if i == 1 {
			res.Phases = phasesIn(plan)
		}
	}
	res.Device, err = deviceBytes(ctx, r.modes[2].witness, "gpujoin.mirrors")
	return err
}

// readBy returns where the rows of an executed plan came from.
func readBy(plan harness.Node) *tablesRead {
	var p foreign.Plan
	p.Add(plan)
	t := &tablesRead{Mirrored: p.Mirrored, Direct: p.Direct, Why: p.Reasons}
	for _, job := range plan.Jobs() {
		if job.Text("Fallback") != "" || job.Text("Provider") == "" {
			continue
		}
		for _, input := range job.Inputs() {
			switch {
			case input.Text("Feed") == "mirror":
			case input["Blocks Fed"] != nil && input.Number("Blocks Fed") == 0:
				t.Kept++
			default:
				t.Fed++
			}
		}
	}
	return t
}

// String says it in a few words.
func (t *tablesRead) String() string {
	text := fmt.Sprintf("%d mirrored", t.Mirrored)
	for _, c := range []struct {
		n    int
		what string
	}{{t.Direct, "direct"}, {t.Kept, "kept"}, {t.Fed, "fed"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}
