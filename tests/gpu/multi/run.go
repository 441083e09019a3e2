//go:build cuda

// Package multi measures several GPUs: their links, exchanges between them,
// exchanges of a machine of eight GPUs that they emulate, joins of inputs in host
// memory, the joins of TPC-H, and compression: make bench-multi.
package multi

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// bench is a run of the program and its results.
type bench struct {
	mesh     *links.Facts
	emulated []emulatedResult
	joins    []joinResult // of all cases so far
	results  []measure.Result

	devices  []int
	repeats  int
	hostRows int64
	builds   []float64 // GB
	tpchSF   float64
	budget   int64 // of each device of host-build; 0: all
	times    int   // by which host-build has more probe rows than build rows
	cases    []joinCase
	sweep    []string // axes; nil: none
	tune     []mgj.Options
	phases   bool
	unified  bool
	shrink   int
	wrong    int // results that miss what is required
}

// suite is the name of the results and of their bars.
const suite = "bench-multi"

// misses reports whether a value misses the bar of a name, which it then counts.
func (b *bench) misses(name, value string, v float64) bool {
	missed := !measure.BarOf(suite, name, value).Met(v)
	if missed {
		b.wrong++
	}
	return missed
}

// ordinals returns the devices that the flag names: the first ones for a number alone.
func ordinals(text string) ([]int, error) {
	var list []int
	for number := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("-devices: %q is neither a number of devices nor a list of ordinals", text)
		}
		list = append(list, n)
	}
	if len(list) > 1 {
		return list, nil
	}
	if list[0] < 2 {
		return nil, errors.New("-devices: two devices or more are measured; 0,0 has one device act as two")
	}
	first := make([]int, list[0])
	for i := range first {
		first[i] = i
	}
	return first, nil
}

// named returns the names that a flag gives of things, by commas; nil if it is empty.
func named[T any](flag, text string, things []T, name func(T) string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	for _, n := range names {
		if !slices.ContainsFunc(things, func(t T) bool { return name(t) == n }) {
			return nil, fmt.Errorf("%s: there is no %q", flag, n)
		}
	}
	return names, nil
}

// part is something to measure.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

// parts are all of them, in this order.
var parts = []part{
	{"mesh", (*bench).measureMesh}, {"exchange", (*bench).measureExchange}, {"emulate", (*bench).measureEmulated},
	{"joins", (*bench).measureJoins}, {"host", (*bench).measureHost}, {"host-build", (*bench).measureHostBuild},
	{"spread", (*bench).measureSpread}, {"tpch", (*bench).measureTPCH}, {"pack", (*bench).measurePack},
}

// Run measures what the arguments select and writes build/bench-multi.json. A result that
// misses its bar is an error.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var (
		devices = flags.String("devices", "2", "how many devices, or their ordinals, by commas")
		only    = flags.String("only", "", "what to measure of mesh, exchange, emulate, joins, host, host-build, spread, tpch, pack, by commas; all where empty")
		rows    = flags.Int64("host-rows", 1<<28, "rows of each input of the joins of inputs in host memory")
		builds  = flags.String("build-gb", "4,8,16,24,32,40", "host-build: sizes of each input, in 10^9 bytes, by commas")
		sf      = flags.Float64("tpch-sf", 100, "tpch: scale factor of the joins' rows; bars are for 100")
		times   = flags.Int("probe-times", 1, "host-build: by how many times the probe side is larger than the build side")
		budget  = flags.Float64("budget-gb", 0, "host-build: memory that joins have on each device, in 10^9 bytes; 0: as much as there is")
		repeats = flags.Int("repeats", 5, "timed exchanges of each kind; the median counts")
		out     = flags.String("json", "build/bench-multi.json", "where the results are written")
		cases   = flags.String("cases", "", "names of joins, by commas; all where empty, \"-\" for none")
		sweep   = flags.String("sweep", "", "also sweep joins along these axes, by commas: rows, build, columns, build-columns, probe-columns, widths, wide-keys, match, duplicates, duplicate-keys, zipf, placed; or all")
		tune    = flags.String("tune", "", "further ways to join: BUILD+PROBExBLOCKS, ranges of the sides and blocks that send, by spaces")
		phases  = flags.Bool("phases", false, "print the phases of each join, and the steps of each exchange, of one more run")
		umj     = flags.Bool("unified", false, "also join other cases than 2^23x2^24 over unified memory, where the probe side has at most 2^24 rows")
		shrink  = flags.Int("shrink", 1, "divide the memory that joins have on each device by this")
	)
	described, common := columndata.Flags(flags), measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{
		repeats: max(*repeats, 1), hostRows: *rows,
		phases: *phases, unified: *umj, shrink: max(*shrink, 1), budget: int64(*budget * 1e9), times: max(*times, 1),
	}
	var err error
	if b.devices, err = ordinals(*devices); err != nil {
		return err
	}
	if b.builds, err = sizesOf(*builds); err != nil {
		return err
	}
	if b.tune, err = waysOf(*tune); err != nil {
		return err
	}
	if b.tpchSF = *sf; !(b.tpchSF > 0 && b.tpchSF <= mostTPCH) {
		return fmt.Errorf("-tpch-sf %g: it is above 0 and at most %d", b.tpchSF, mostTPCH)
	}
	chosen, err := named("-only", *only, parts, func(p part) string { return p.name })
	if err != nil {
		return err
	}
	if b.cases, err = joinsOf(*cases, described); err != nil {
		return err
	}
	if b.sweep, err = axesOf(*sweep); err != nil {
		return err
	}
	run, err := common.BeginBuilt(ctx, suite, *out)
	if err != nil {
		return err
	}
	run.Parameter("devices", *devices)
	run.Chosen("only", *only)
	run.Chosen("cases", *cases)
	run.Parameter("runs", b.repeats)
	run.Parameter("host_rows", b.hostRows)
	run.Parameter("shrink", b.shrink)
	run.Parameter("build_gb", *builds)
	run.Parameter("tpch_sf", b.tpchSF)
	run.Parameter("budget_gb", *budget)
	run.Parameter("probe_times", b.times)
	fmt.Println(run)
	for _, p := range parts {
		if chosen != nil && !slices.Contains(chosen, p.name) {
			continue
		}
		fmt.Printf("\n%s\n", p.name)
		err := p.measure(b, ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
		if err := errors.Join(err, run.Save(measure.Distinct(b.results))); err != nil {
			return err
		}
	}
	if err := run.Finish(measure.Distinct(b.results)); err != nil {
		return err
	}
	if b.wrong > 0 {
		return fmt.Errorf("%d results miss their bars", b.wrong)
	}
	return nil
}
