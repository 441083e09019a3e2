// Package mirror measures mirrors of another server's tables: how fast they load and follow,
// how late they are, and what they cost here and there: make bench-mirror.
package mirror

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

// suite is the name of the results, and of their bars.
const suite = "bench-mirror"

// Result is one measured value.
type Result struct {
	Name, Unit string
	Value      float64
	Note       string
}

func (r *Result) bar() measure.Bar { return measure.BarOf(suite, r.Name, r.Unit) }

func (r *Result) result() measure.Result {
	texts := map[string]string{}
	if r.Note != "" {
		texts["note"] = r.Note
	}
	return measure.Result{Name: r.Name, Values: map[string]float64{r.Unit: r.Value}, Texts: texts}
}

// bench is the state that the measurements share.
type bench struct {
	ctx    context.Context
	env    *harness.Env
	world  *foreign.World
	source *harness.Session
	local  *harness.Session
	sf     float64
	runs   int
	values []*Result
}

// parts of the measurement by the names for -parts. Those with a source share two servers.
var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"load", (*bench).load},
	{"apply", (*bench).apply},
	{"stream", (*bench).stream},
	{"lag", (*bench).lag},
	{"latest", (*bench).latest},
	{"memory", (*bench).memory},
	{"pgbench", (*bench).pgbench},
}

// Run measures what the arguments select and writes build/bench-mirror.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) (err error) {
	b := &bench{ctx: ctx}
	chosen := "load,apply,stream,lag,latest,memory,pgbench"
	flags.Float64Var(&b.sf, "sf", 1, "scale factor of TPC-H, whose lineitem is loaded")
	flags.IntVar(&b.runs, "runs", 3, "runs of each measurement; the median counts")
	flags.StringVar(&chosen, "parts", chosen, "what to measure")
	common := measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.env, err = harness.Prepare(); err != nil {
		return err
	}
	run, err := common.Begin(ctx, b.env.Root, suite, filepath.Join(b.env.Root, "build", "bench-mirror.json"))
	if err != nil {
		return err
	}
	// The source's files, with lineitem, are kept for the next run.
	settings := harness.Settings{"shared_buffers": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "'30min'", "jit": "off"}
	run.Parameter("sf", b.sf)
	run.Parameter("runs", b.runs)
	run.Parameter("parts", chosen)
	run.Server(b.env.Prefix.Version, settings)
	b.world, err = foreign.Start(b.env, foreign.Options{SourceName: "mirror-source", Source: settings, Local: harness.Settings{"jit": "off"},
		Daemon: harness.DaemonOptions{"calibrate": "false"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.world.Stop()) }()
	if b.source, err = b.world.Source.Connect(ctx); err != nil {
		return err
	}
	defer b.source.Close()
	if b.local, err = b.world.Local.Connect(ctx); err != nil {
		return err
	}
	defer b.local.Close()
	if err := b.prepare(); err != nil {
		return err
	}
	for _, part := range parts {
		if !strings.Contains(chosen, part.name) {
			continue
		}
		fmt.Println("  " + part.name)
		if err := part.run(b); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		// What was measured before a failure is kept.
		if err := run.Save(b.results()); err != nil {
			return err
		}
	}
	if err := run.Finish(b.results()); err != nil {
		return err
	}
	return b.print(run)
}

// print prints the table.
func (b *bench) print(run *measure.Run) error {
	fmt.Printf("%s; %s; source, daemon and local server share the cores\n", run, b.env.Prefix.Version)
	rows := []string{"\tmeasured\tunit\tbar\tmet"}
	var notes []string
	for _, r := range b.values {
		rows = append(rows, fmt.Sprintf("%s\t%v\t%s\t%v\t%s", r.Name, r.Value, r.Unit, r.bar(), r.bar().Verdict(r.Value)))
		if r.Note != "" {
			notes = append(notes, r.Name+": "+r.Note)
		}
	}
	err := measure.Table(os.Stdout, rows...)
	if len(notes) > 0 {
		fmt.Println(strings.Join(notes, "\n"))
	}
	return err
}

// add adds a value.
func (b *bench) add(name string, value float64, unit string) *Result {
	digits := 3
	if value >= 100 {
		digits = 0
	}
	r := &Result{Name: name, Value: measure.Round(value, digits), Unit: unit}
	b.values = append(b.values, r)
	return r
}

// results returns the values as results of a document.
func (b *bench) results() (list []measure.Result) {
	for _, r := range b.values {
		list = append(list, r.result())
	}
	return list
}

func (b *bench) exec(s *harness.Session, format string, args ...any) error {
	sql := fmt.Sprintf(format, args...)
	if err := s.Exec(b.ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// number returns the only value of a query.
func (b *bench) number(s *harness.Session, sql string) (n float64, err error) {
	text, err := s.One(b.ctx, sql)
	if err == nil {
		_, err = fmt.Sscan(text, &n)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", sql, err)
	}
	return n, err
}
