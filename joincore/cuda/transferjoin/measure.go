//go:build cuda

package transferjoin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/exec"

	"golang.org/x/sys/unix"
)

// Config says what to measure.
type Config struct {
	Ordinal int // of the device
	Workload
	Repeats int  // timed joins; an untimed one precedes them
	Unified bool // include methods that migrate pages
}

// bench is the inputs of a join in host memory.
type bench struct {
	Config
	memory []byte
	inputs []*joincore.Relation
	plan   *joincore.Checked
	want   sums
}

// Measure times the join by each method. After an error the report has the rows measured before it.
func Measure(ctx context.Context, cfg Config) (_ *Report, err error) {
	if cfg.Repeats < 1 {
		return nil, errors.New("no repeats to measure")
	}
	b := &bench{Config: cfg}
	if b.plan, err = cfg.plan(); err != nil {
		return nil, err
	}
	report, err := b.describe()
	if err != nil {
		return nil, err
	}
	if b.memory, err = links.MapHost(cfg.Bytes()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(b.memory)) }()
	b.inputs, b.want = cfg.inputs(b.memory)
	for _, m := range links.Methods() {
		row, err := b.row(ctx, m)
		if err != nil {
			return report, fmt.Errorf("%s: %w", m, err)
		}
		report.Rows = append(report.Rows, row)
	}
	compare(report.Rows)
	return report, nil
}

// describe returns a report without rows.
func (b *bench) describe() (_ *Report, err error) {
	c, err := driver.Open(b.Ordinal)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	info := c.Info()
	r := &Report{Device: info.Name, Driver: fmt.Sprintf("%d.%d", info.Driver/1000, info.Driver%1000/10), Repeats: b.Repeats, Workload: b.Workload}
	r.Platform, err = links.PlatformOf(c)
	return r, err
}

// row measures a method, or says why not.
func (b *bench) row(ctx context.Context, m links.Method) (_ Row, err error) {
	if m.Unified() && !b.Unified {
		return missing(m, "moves pages: only with -unified"), nil
	}
	// As the daemon's provider: the inputs may be larger than what joins may use of the device.
	p, err := cuda.New(cuda.Config{Ordinal: b.Ordinal, Method: m, SlabBytes: -1})
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, t := range p.TransferMethods() {
		if t.Name == m.Name() && t.Reason != "" {
			return missing(m, t.Reason), nil
		}
	}
	note := ""
	if m.PageLocks() {
		start := time.Now()
		release, err := p.Register(b.memory)
		if err != nil {
			return missing(m, "refused: "+err.Error()), p.Lost()
		}
		defer release()
		note = fmt.Sprintf("registered once in %.1f ms", float64(time.Since(start))/1e6)
	}
	var ms []float64
	var stats joincore.Stats
	for range b.Repeats + 1 {
		took, err := b.once(ctx, p, &stats)
		if err != nil {
			return Row{}, err
		}
		if stats.StrategyReason != "" {
			return missing(m, "refused: "+stats.StrategyReason), nil
		}
		ms = append(ms, float64(took)/1e6)
	}
	row := b.measured(m, ms[1:])
	row.Note = note
	if len(stats.Joins) > 0 {
		row.Algorithm = stats.Joins[0].Algorithm
	}
	return row, nil
}

// once executes the join and verifies its result.
func (b *bench) once(ctx context.Context, p *cuda.Provider, stats *joincore.Stats) (time.Duration, error) {
	var r result
	start := time.Now()
	if err := exec.Run(ctx, p, b.plan, b.inputs, hostMemory{}, &r, exec.Options{}, stats); err != nil {
		return 0, err
	}
	return time.Since(start), r.check(b.want)
}
