//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/multi"
	"gpujoin/tests/measure"
)

// builds are joins of two inputs in host memory, by each strategy: how large a build side may become before
// another strategy is faster.
type builds struct {
	sizes []float64 // GB of the build side
	times int       // by which the probe side is larger
	ms    map[buildKey]float64
	notes []string
}

// buildKey names a measured join: the size of the build side and the strategy.
type buildKey struct {
	gb  float64
	how string
}

// exchanged is an exchange without the worker's provider: the benchmark uploads both inputs, and the
// devices exchange and join them.
const exchanged = "mgj"

// executed are the strategies by which the worker's provider executes joins.
var executed = []costmodel.Strategy{costmodel.Alone, costmodel.Replicate, costmodel.Exchange, costmodel.Divide, costmodel.Spread, costmodel.Hybrid}

// buildStrategies are the columns of the table.
var buildStrategies = func() (names []string) {
	for _, how := range executed {
		names = append(names, how.String())
	}
	return append(names, exchanged)
}()

// sizesOf reads sizes in GB, by commas.
func sizesOf(text string) (list []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		gb, err := strconv.ParseFloat(part, 64)
		if err != nil || gb <= 0 {
			return nil, fmt.Errorf("-build-gb: %q is not a size in GB", part)
		}
		list = append(list, gb)
	}
	slices.Sort(list)
	return list, nil
}

// rowsOf returns the rows of an input of a size.
func rowsOf(gb float64) int64 { return int64(gb * 1e9 / hostRow) }

// hostTimes is by how many times the size of an input the machine's memory must exceed it: both
// inputs, their partitions in host memory, and as much as an input for the rest.
const hostTimes = 5

// measureHostBuild measures joins of build sides of some sizes by each strategy.
func (b *bench) measureHostBuild(ctx context.Context) error {
	t := &builds{times: b.times, ms: map[buildKey]float64{}}
	for _, gb := range b.builds {
		if memory := measure.MemoryBytes(); memory > 0 && (hostTimes+float64(b.times-1))*gb*1e9 > float64(memory) {
			fmt.Printf("build sides of %g GB are left out: the machine has %.0f GB\n", gb, float64(memory)/1e9)
			continue
		}
		t.sizes = append(t.sizes, gb)
	}
	if t.sizes == nil {
		return nil
	}
	h := newHostBed(rowsOf(t.sizes[len(t.sizes)-1]))
	h.times = b.times
	err := b.timeProviders(ctx, h, t)
	if err = errors.Join(err, h.close()); err != nil {
		return err
	}
	if t.times == 1 {
		if err := b.timeExchange(ctx, h, t); err != nil {
			return err
		}
	}
	b.results = append(b.results, t.results()...)
	err = t.print()
	for _, note := range t.notes {
		fmt.Println(note)
	}
	return err
}

// timeProviders measures what the worker does: on one device, or on all by a strategy.
func (b *bench) timeProviders(ctx context.Context, h *hostBed, t *builds) error {
	budget := b.budget
	if b.repeated() && budget == 0 {
		budget = 32 << 30 // a device has this for each provider
	}
	links, err := b.links() // of devices that are idle
	if err != nil {
		return err
	}
	if err := h.open(b.devices, budget/int64(b.shrink)); err != nil {
		return err
	}
	var members []device.Provider
	for i, p := range h.providers {
		p.UseMesh(links, i)
		members = append(members, p)
	}
	for _, gb := range t.sizes {
		h.fill(rowsOf(gb))
		for _, how := range executed {
			p := members[0]
			if how != costmodel.Alone {
				p = multi.Together("cuda", members, how)
			}
			if how == costmodel.Replicate && h.providers[0].Exceeds(h.inputs[1]) {
				t.notes = append(t.notes, fmt.Sprintf("%g GB, %v: a device does not hold the build side and its partitions", gb, how))
				continue
			}
			all, note, err := b.timeStrategy(ctx, h, p)
			if err != nil {
				return fmt.Errorf("%g GB, %v: %w", gb, how, err)
			}
			t.notes = append(t.notes, fmt.Sprintf("%g GB, %v: %s", gb, how, note))
			if all != nil {
				t.add(gb, how.String(), all)
			}
		}
	}
	return nil
}

// timeStrategy returns the times of a join, and by what algorithm it was executed; no times, and
// the reason, where the devices do not execute it so.
func (b *bench) timeStrategy(ctx context.Context, h *hostBed, p device.Provider) (all []float64, note string, err error) {
	for i := range b.repeats + 1 {
		ms, stats, err := h.execute(ctx, p, true)
		switch {
		case errors.Is(err, joincore.ErrBudget) || errors.Is(err, joincore.ErrUnsupported):
			return nil, err.Error(), nil
		case err != nil:
			return nil, "", err
		case stats.Alone != "":
			return nil, "one device alone: " + stats.Alone, nil
		}
		note = stats.Joins[0].Algorithm
		if i > 0 {
			all = append(all, ms)
			continue
		}
		for _, p := range h.providers { // the first one allocates
			p.Settle()
		}
	}
	return all, note, nil
}

// timeExchange measures joins whose inputs are uploaded in equal parts and exchanged between the
// devices.
func (b *bench) timeExchange(ctx context.Context, h *hostBed, t *builds) (err error) {
	x, err := b.openExchange(ctx, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	for _, gb := range t.sizes {
		h.fill(rowsOf(gb))
		want := x.expected(h.rows)
		var all []float64
		for i := range b.repeats + 1 {
			start := time.Now()
			got, err := x.join(ctx)
			if errors.Is(err, joincore.ErrBudget) {
				t.notes = append(t.notes, fmt.Sprintf("%g GB, %s: %v", gb, exchanged, err))
				break
			}
			if err == nil && got != want {
				err = fmt.Errorf("wrong result: %v, not %v", got, want)
			}
			if err != nil {
				return fmt.Errorf("%g GB, %s: %w", gb, exchanged, err)
			}
			if i > 0 {
				all = append(all, float64(time.Since(start))/float64(time.Millisecond))
			}
		}
		if all != nil {
			t.add(gb, exchanged, all)
		}
	}
	return nil
}

// add notes the times of a join.
func (t *builds) add(gb float64, how string, ms []float64) {
	t.ms[buildKey{gb, how}] = measure.Median(ms)
	fmt.Printf("  %g GB, %s: %.1f ms\n", gb, how, measure.Median(ms))
}

// results returns what was measured as results of the document.
func (t *builds) results() (list []measure.Result) {
	for _, gb := range t.sizes {
		one := t.ms[buildKey{gb, alone}]
		for _, how := range buildStrategies {
			ms, ok := t.ms[buildKey{gb, how}]
			if !ok {
				continue
			}
			r := measure.Result{
				Name: t.name(gb), Engine: how, Ms: []float64{ms},
				Values: map[string]float64{"rows": float64(rowsOf(gb)), "gb/s": float64(1+t.times) * gb / ms * 1e3},
			}
			if one > 0 {
				r.Values[ofOne] = measure.Round(ms/one, 3)
			}
			list = append(list, r)
		}
	}
	return list
}

// name names the joins of a size in the document.
func (t *builds) name(gb float64) string {
	if t.times == 1 {
		return fmt.Sprintf("host-build %g GB", gb)
	}
	return fmt.Sprintf("host-build %g x %g GB", gb, gb*float64(t.times))
}

// print prints one table: a line for each size, and a column for each strategy.
func (t *builds) print() error {
	rows := []string{"build side, GB\trows\tprobe side, GB\t" + strings.Join(buildStrategies, ", ms\t") + ", ms\tfastest\tof one"}
	for _, gb := range t.sizes {
		line, best, least := []string{strconv.FormatFloat(gb, 'g', -1, 64), strconv.FormatInt(rowsOf(gb), 10), strconv.FormatFloat(gb*float64(t.times), 'g', -1, 64)}, "", 0.0
		for _, how := range buildStrategies {
			ms, ok := t.ms[buildKey{gb, how}]
			if !ok {
				line = append(line, "-")
				continue
			}
			line = append(line, fmt.Sprintf("%.1f", ms))
			if best == "" || ms < least {
				best, least = how, ms
			}
		}
		ratio := "-"
		if one := t.ms[buildKey{gb, alone}]; one > 0 {
			ratio = fmt.Sprintf("%.2f", least/one)
		}
		line = append(line, best, ratio)
		rows = append(rows, strings.Join(line, "\t"))
	}
	return measure.Table(os.Stdout, rows...)
}
