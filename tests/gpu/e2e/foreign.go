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

// foreignResult is a query's entry in build/gpu-e2e.json: cores and CUDA over foreign tables.
type foreignResult struct {
	Stage      string             `json:"stage"`
	Query      string             `json:"query"`
	Tables     string             `json:"tables"`
	Rows       int                `json:"rows"`                // of the result
	NativeMs   float64            `json:"native_ms,omitempty"` // at the source, once
	CPU        *times             `json:"cpu"`
	CUDA       *times             `json:"cuda"`
	Read       [2]*tablesRead     `json:"read"` // by cores, by CUDA
	Equal      bool               `json:"equal"`
	Difference string             `json:"difference,omitempty"`
	Phases     map[string]float64 `json:"phases,omitempty"` // ms on CUDA, of all joins
	Device     int64              `json:"device_bytes"`     // of all mirrors, afterwards
}

// tablesRead says where the rows of a plan's tables came from.
type tablesRead struct {
	Mirrored int      `json:"mirrored"` // foreign tables
	Direct   int      `json:"direct"`   // foreign tables that the source was asked for
	Why      []string `json:"why_direct,omitempty"`
	Kept     int      `json:"kept"` // inputs of local tables of which all blocks were served
	Fed      int      `json:"fed"`  // inputs of local tables of which some or all blocks were fed
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
	queries []keptQuery
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
			if err := measure.WriteJSON(o.out, map[string]any{"circumstances": r.describe(), "foreign": r.results, "mirrors": r.mirrors}); err != nil {
				return err
			}
		}
	}
	return r.print()
}

// measureQuery runs a query natively at the source, and in all placements that differ.
func (r *foreignRun) measureQuery(ctx context.Context, s stage, q keptQuery) error {
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
func (r *foreignRun) compare(ctx context.Context, p placement, q keptQuery, res *foreignResult, want *harness.Result) (err error) {
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
		all[i].Ms = measure.Round(measure.Median(took[i]), 2)
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
