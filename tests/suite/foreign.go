package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

// ForeignMeasurement is a query over foreign tables, whose rows are mirrored, and over the
// same tables where they are local: natively, and with their columns kept by the same daemon.
type ForeignMeasurement struct {
	Query int
	// Times are those of all runs by engine: measure.Postgres and measure.Kept at the source,
	// without the daemon and by the planner's own choice, and measure.Foreign.
	Times      map[string][]float64
	Joins      int // over foreign tables, that the daemon executed
	Blocks     int
	Rows       int
	Equal      bool // the rows over foreign tables and kept columns are the native ones
	Difference string
}

// Ms returns the median of an engine.
func (m *ForeignMeasurement) Ms(engine string) float64 { return measure.Median(m.Times[engine]) }

// Results returns the measurement as results of a document.
func (m *ForeignMeasurement) Results() (list []measure.Result) {
	for _, engine := range []string{measure.Postgres, measure.Kept, measure.Foreign} {
		r := measure.Result{Name: Name(m.Query), Engine: engine, Ms: m.Times[engine], Rows: m.Rows, Equal: &m.Equal}
		if engine == measure.Foreign {
			r.Values = map[string]float64{"joins": float64(m.Joins), "blocks": float64(m.Blocks)}
		}
		list = append(list, r)
	}
	return list
}

// foreignServer is the name of the server and of the schema of its tables.
const foreignServer = "src"

// ForeignProgram is the part of a command that measures a suite over foreign tables.
type ForeignProgram struct {
	Queries []Query
	Tables  []string
	Runs    int
	Load    func(*harness.Session) error // the data, at the source
	Run     *measure.Run
}

// foreignRun is the state of RunForeign.
type foreignRun struct {
	ctx           context.Context
	source, local *harness.Session
}

// RunForeign measures the queries over the tables of a private source, prints each as it
// finishes, and then the table. It returns an error if rows differed.
func RunForeign(ctx context.Context, env *harness.Env, p ForeignProgram) (err error) {
	settings := KeptSettings()
	local := KeptSettings()
	local["shared_buffers"] = "128MB"
	w, err := foreign.Start(env, foreign.Options{Source: settings, Local: local, Shared: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	r := &foreignRun{ctx: ctx}
	if r.source, err = w.Source.Connect(ctx); err != nil {
		return err
	}
	defer r.source.Close()
	if r.local, err = w.Local.Connect(ctx); err != nil {
		return err
	}
	defer r.local.Close()
	if err := r.prepare(w, p); err != nil {
		return err
	}
	p.Run.Server(env.Prefix.Version, settings)
	var measured []*ForeignMeasurement
	var results []measure.Result
	for _, q := range p.Queries {
		m, err := r.measure(q, p.Runs)
		if err != nil {
			return fmt.Errorf("query %d: %w", q.Number, err)
		}
		fmt.Printf("  query %2d: native %s, kept %s, foreign %s ms, %d rows, equal %v\n", m.Query, ms(m.Ms(measure.Postgres)), ms(m.Ms(measure.Kept)), ms(m.Ms(measure.Foreign)), m.Rows, m.Equal)
		measured, results = append(measured, m), append(results, m.Results()...)
		if err := p.Run.Save(results); err != nil {
			return err
		}
	}
	if err := p.Run.Finish(append(results, means(measured))); err != nil {
		return err
	}
	fmt.Println(p.Run)
	fmt.Println("source: " + DescribeSettings(settings))
	return reportForeign(os.Stdout, measured)
}

// prepare loads the data, imports and mirrors the tables.
func (r *foreignRun) prepare(w *foreign.World, p ForeignProgram) error {
	if err := p.Load(r.source); err != nil {
		return err
	}
	if err := Warm(r.ctx, r.source); err != nil {
		return err
	}
	if err := r.source.Exec(r.ctx, "create extension gpujoin"); err != nil {
		return err
	}
	Progress("mirroring")
	if err := w.Import(r.ctx, r.local, foreignServer, p.Tables...); err != nil {
		return err
	}
	began := time.Now()
	var tables []string
	for _, t := range p.Tables {
		tables = append(tables, foreignServer+"."+t)
	}
	if err := foreign.Mirror(r.ctx, r.local, tables...); err != nil {
		return err
	}
	Progress(fmt.Sprintf("mirrored in %.1f s; analyzing", time.Since(began).Seconds()))
	if err := r.local.Exec(r.ctx, "set search_path = "+foreignServer); err != nil {
		return err
	}
	for _, t := range p.Tables {
		if err := r.local.Exec(r.ctx, "analyze "+t); err != nil {
			return fmt.Errorf("analyze %s: %w", t, err)
		}
	}
	return nil
}

// measure runs a query in the three ways in turn, after runs that warm the caches.
func (r *foreignRun) measure(q Query, runs int) (*ForeignMeasurement, error) {
	m := &ForeignMeasurement{Query: q.Number, Equal: true, Times: map[string][]float64{}}
	if _, err := WarmKept(r.ctx, r.source, q.SQL, Forced, Automatic); err != nil {
		return nil, err
	}
	ways := []struct {
		name string
		s    *harness.Session
		mode string
	}{{measure.Postgres, r.source, Native}, {measure.Kept, r.source, Automatic}, {measure.Foreign, r.local, Automatic}}
	var want *harness.Result
	for round := range runs + 1 {
		for i := range ways {
			if round > 0 { // each is the first one at times; the native one at first
				i = (i + round) % len(ways)
			}
			way := ways[i]
			if err := way.s.Exec(r.ctx, way.mode); err != nil {
				return nil, err
			}
			began := time.Now()
			got, err := way.s.Query(r.ctx, q.SQL)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			if round > 0 {
				m.Times[way.name] = append(m.Times[way.name], measure.Ms(time.Since(began)))
			}
			if want == nil {
				want, m.Rows = got, len(got.Rows)
			}
			d, err := r.difference(q.SQL, want, got, way.s)
			if err != nil {
				return nil, err
			}
			if d != "" && m.Equal {
				m.Equal, m.Difference = false, way.name+": "+d
			}
		}
	}
	plan, err := r.local.Explain(r.ctx, "analyze, timing off", q.SQL)
	if err != nil {
		return nil, err
	}
	m.Joins, m.Blocks = plan.OffloadedJoins(), plan.OffloadedBlocks()
	return m, nil
}

// difference compares rows with the native ones. Which of equal rows a LIMIT returns is not
// decided: then all are compared.
func (r *foreignRun) difference(sql string, want, got *harness.Result, s *harness.Session) (string, error) {
	d := difference(sql, want, got)
	all, limited := withoutLimit(sql)
	if d == "" || !limited {
		return d, nil
	}
	got, err := s.Query(r.ctx, all)
	if err != nil {
		return "", err
	}
	if err := r.source.Exec(r.ctx, Native); err != nil {
		return "", err
	}
	if want, err = r.source.Query(r.ctx, all); err != nil {
		return "", err
	}
	return difference(all, want, got), nil
}

// foreignSuite is the suite's name.
const foreignSuite = "tpch-foreign"

// means returns the geometric means of the ratios as a result.
func means(measured []*ForeignMeasurement) measure.Result {
	var native, kept measure.GeometricMean
	for _, m := range measured {
		native.Add(m.Ms(measure.Postgres), m.Ms(measure.Foreign))
		kept.Add(m.Ms(measure.Foreign), m.Ms(measure.Kept))
	}
	return measure.Result{Name: "geometric mean", Values: map[string]float64{
		"native/foreign": measure.Round(native.Value(), 3), overKept: measure.Round(kept.Value(), 3)}}
}

// overKept is how much longer queries over foreign tables take than those over kept columns.
const overKept = "foreign/kept"

// reportForeign prints the table and what the whole suite takes.
func reportForeign(w io.Writer, measured []*ForeignMeasurement) error {
	rows := []string{"query\tnative ms\tkept ms\tforeign ms\tnative/foreign\tforeign/kept\tjoins offloaded\tblocks\trows\tequal"}
	different := 0
	for _, m := range measured {
		native, kept, foreign := m.Ms(measure.Postgres), m.Ms(measure.Kept), m.Ms(measure.Foreign)
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%v", m.Query, ms(native), ms(kept), ms(foreign),
			ratio(native, foreign), ratio(foreign, kept), m.Joins, m.Blocks, m.Rows, m.Equal))
		if !m.Equal {
			different++
		}
	}
	if err := measure.Table(w, rows...); err != nil {
		return err
	}
	values := means(measured).Values
	fmt.Fprintf(w, "geometric means: native/foreign %.2f, foreign/kept %.2f (bar: %v); %d of %d equal to native\n", values["native/foreign"], values[overKept],
		measure.BarOf(foreignSuite, "geometric mean", overKept), len(measured)-different, len(measured))
	for _, m := range measured {
		if !m.Equal {
			fmt.Fprintf(w, "query %d: %s\n", m.Query, m.Difference)
		}
	}
	if different > 0 {
		return fmt.Errorf("%d queries returned other rows than the native plan at the source", different)
	}
	return nil
}
