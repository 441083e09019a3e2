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

// Report is the content of build/bench-mirror.json.
type Report struct {
	Circumstances string   `json:"circumstances"`
	Server        string   `json:"server"`
	Results       []Result `json:"results"`
}

// Result is one measured value.
type Result struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Bar   float64 `json:"bar,omitempty"` // 0: none
	Most  bool    `json:"most"`          // the bar is an upper one
	Note  string  `json:"note,omitempty"`
}

// met says whether a value meets its bar.
func (r *Result) met() string {
	switch {
	case r.Bar == 0:
		return ""
	case r.Most && r.Value > r.Bar, !r.Most && r.Value < r.Bar:
		return "NO"
	}
	return "yes"
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
	report Report
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.env, err = harness.Prepare(); err != nil {
		return err
	}
	// The source's files, with lineitem, are kept for the next run.
	b.world, err = foreign.Start(b.env, foreign.Options{SourceName: "mirror-source", Source: harness.Settings{"shared_buffers": "2GB",
		"max_wal_size": "16GB", "checkpoint_timeout": "'30min'", "jit": "off"}, Local: harness.Settings{"jit": "off"},
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
	b.report.Circumstances, b.report.Server = measure.Circumstances(b.env.Root), b.env.Prefix.Version
	for _, part := range parts {
		if !strings.Contains(chosen, part.name) {
			continue
		}
		fmt.Println("  " + part.name)
		if err := part.run(b); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		// What was measured before a failure is kept.
		if err := measure.WriteJSON(filepath.Join(b.env.Root, "build", "bench-mirror.json"), b.report); err != nil {
			return err
		}
	}
	return b.print()
}

// print prints the table.
func (b *bench) print() error {
	fmt.Printf("%s; %s; source, daemon and local server share the cores\n", b.report.Circumstances, b.report.Server)
	rows := []string{"\tmeasured\tunit\tbar\tmet"}
	var notes []string
	for _, r := range b.report.Results {
		bar := ""
		if r.Bar != 0 {
			bar = "≥ "
			if r.Most {
				bar = "≤ "
			}
			bar += fmt.Sprint(r.Bar)
		}
		rows = append(rows, fmt.Sprintf("%s\t%v\t%s\t%s\t%s", r.Name, r.Value, r.Unit, bar, r.met()))
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

// least adds a value that shall reach a bar, most one that shall not exceed it.
func (b *bench) least(name string, value float64, unit string, bar float64) *Result {
	digits := 3
	if value >= 100 {
		digits = 0
	}
	b.report.Results = append(b.report.Results, Result{Name: name, Value: measure.Round(value, digits), Unit: unit, Bar: bar})
	return &b.report.Results[len(b.report.Results)-1]
}

func (b *bench) most(name string, value float64, unit string, bar float64) *Result {
	r := b.least(name, value, unit, bar)
	r.Most = true
	return r
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
