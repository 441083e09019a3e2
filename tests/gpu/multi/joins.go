//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// joinResult is one way to execute a case.
type joinResult struct {
	Case      string
	How       string // alone, or the strategy over all devices
	Way       string // that rows are sent in
	Chosen    bool
	Predicted float64 // ms; 0: not predicted
	OfBest    float64 // of a choice that was executed: its time by that of the fastest way
	Algorithm string
	Ranges    string // of both sides; none: by default
	Blocks    int
	MS        float64 // of the host, from entry to return
	Ratio     float64 // of the time on one device
	GB        float64 // sent to other devices
	Packed    float64 // GB of rows that were compressed
	Saved     float64 // GB that compression has kept off the links
	Assigned  float64 // GB that the assignment of partitions expected to be sent
	Baseline  bool    // a way of the paper's to compare with, which is never chosen
	Sent      [][]float64
	Phases    []string // of each device
	Bound     string   // of a join of TPC-H: why several devices are not faster
	// ofNoCopies has the time and the bytes by those without copies of small sides; 0: not compared.
	ofNoCopies [2]float64
	refused    error // joincore.ErrBudget or ErrUnsupported: the case is not joined this way
}

const (
	// Names of values, as bars have them.
	ofOne  = "of one"
	ofBest = "of the best"
	ofHalf = "of half the rows"
	// Of a join with copies of small sides, by the one without.
	ofNoCopies      = "of no copies"
	bytesOfNoCopies = "bytes of no copies"
	// ofChosen is the name of the bars of the way that was chosen, in any case.
	ofChosen = "chosen"
)

// result returns the way as a result of the document. A case may be tried in one way with
// several settings, which its engine names.
func (r *joinResult) result() measure.Result {
	engine := strings.TrimSpace(r.How + " " + r.Way)
	if r.Ranges != "" || r.Blocks > 0 {
		engine += fmt.Sprintf(", %s ranges, %d blocks", r.Ranges, r.Blocks)
	}
	m := measure.Result{Name: r.Case, Engine: engine, Ms: []float64{r.MS}, Texts: map[string]string{"algorithm": r.Algorithm},
		Values: map[string]float64{ofOne: r.Ratio, "gb_sent": r.GB, "gb_assigned": r.Assigned}}
	if r.Chosen {
		m.Texts["chosen"] = "yes"
	}
	if r.Predicted > 0 {
		m.Values["predicted_ms"] = r.Predicted
	}
	if r.OfBest > 0 {
		m.Values[ofBest] = r.OfBest
	}
	if r.Bound != "" {
		m.Texts["bounded by"] = r.Bound
	}
	if r.ofNoCopies[0] > 0 {
		m.Values[ofNoCopies], m.Values[bytesOfNoCopies] = r.ofNoCopies[0], r.ofNoCopies[1]
	}
	return m
}

// measureJoins times joins on one device and on all.
func (b *bench) measureJoins(ctx context.Context) (err error) {
	d, err := b.openDevices(shares)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.measureRates(ctx); err != nil {
		return err
	}
	var notes []string
	rows := []string{"case\thow\tway\tchosen\tof best\talgorithm\tranges\tblocks\tpredicted\tms\tof one\tbar\tGB sent\tGB assigned"}
	for _, c := range b.cases {
		results, err := b.timeJoin(ctx, d, c, b.ways(c))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		b.judge(c, c.name, results)
		for _, r := range results {
			rows = append(rows, r.row(measure.BarOf(suite, c.name, ofOne)))
			if r.refused != nil {
				notes = append(notes, fmt.Sprintf("%s, %s: %v", r.Case, r.How, r.refused))
			}
			if of := r.ofNoCopies; of[0] > 0 {
				notes = append(notes, fmt.Sprintf("%s: with copies of small sides, %.3f of the time (bar %v) and %.3f of the bytes (bar %v) without; %.3f GB were assigned, %.3f sent",
					r.Case, of[0], measure.BarOf(suite, r.Case, ofNoCopies), of[1], measure.BarOf(suite, r.Case, bytesOfNoCopies), r.Assigned, r.GB))
			}
			for _, p := range r.Phases {
				notes = append(notes, fmt.Sprintf("%s, %s %s %s, %d blocks, %s", r.Case, r.How, r.Way, r.Ranges, r.Blocks, p))
			}
		}
		b.record(results)
	}
	if len(b.cases) > 0 {
		err = measure.Table(os.Stdout, rows...)
	}
	for _, line := range notes {
		fmt.Println(line)
	}
	if err != nil || b.sweep == nil {
		return err
	}
	return b.measureSweep(ctx, d)
}

// row is a result's line in the table of all joins.
func (r *joinResult) row(bar measure.Bar) string {
	limit, chosen, ms, ratio, sent, assigned := "", "", "-", "-", "-", "-"
	if r.How != alone && !r.Baseline {
		limit = bar.String()
	}
	if r.Chosen {
		chosen = "*"
	}
	ofBest, predicted := r.judged()
	if r.refused == nil {
		ms, ratio, sent, assigned = fmt.Sprintf("%.3f", r.MS), fmt.Sprintf("%.3f", r.Ratio), fmt.Sprintf("%.2f", r.GB), fmt.Sprintf("%.2f", r.Assigned)
	}
	return strings.Join([]string{r.Case, r.How, r.Way, chosen, ofBest, r.Algorithm, r.Ranges, strconv.Itoa(r.Blocks), predicted, ms, ratio, limit, sent, assigned}, "\t")
}

// judged returns how far a choice is from the fastest way, and the prediction; "" for none.
func (r *joinResult) judged() (ofBest, predicted string) {
	if r.OfBest > 0 {
		ofBest = fmt.Sprintf("%.2f", r.OfBest)
	}
	if r.Predicted > 0 {
		predicted = fmt.Sprintf("%.3f", r.Predicted)
	}
	return ofBest, predicted
}

// record keeps results of joins that were executed.
func (b *bench) record(results []joinResult) {
	for _, r := range results {
		if r.refused == nil {
			b.joins, b.results = append(b.joins, r), append(b.results, r.result())
		}
	}
}

// judge counts the bars that a case misses: those of the choice, and those of a name.
func (b *bench) judge(c joinCase, name string, results []joinResult) {
	b.judgeCopies(name, results)
	best := b.judgeChoice(results)
	b.misses(name, ofOne, best.Ratio)
	for _, r := range b.joins {
		if r.Case == c.twice && r.Chosen {
			b.misses(name, ofHalf, best.MS/r.MS)
		}
	}
}

// judgeChoice notes how far the choice is from the fastest way, which it returns, and counts the bars that it
// misses.
func (b *bench) judgeChoice(results []joinResult) *joinResult {
	best := &results[0]
	for i := range results {
		if r := &results[i]; !r.Baseline && r.refused == nil && r.MS < best.MS {
			best = r
		}
	}
	for i := range results {
		switch r := &results[i]; {
		case !r.Chosen:
		case r.refused != nil:
			b.wrong++
		default:
			r.OfBest = measure.Round(r.MS/best.MS, 3)
			if !b.misses(ofChosen, ofBest, r.OfBest) {
				b.misses(ofChosen, ofOne, r.MS/results[0].MS)
			}
		}
	}
	return best
}

// judgeCopies compares an exchange with the same one that copies no small sides, if both were
// executed, in time and in bytes.
func (b *bench) judgeCopies(name string, results []joinResult) {
	var with, without *joinResult
	for i := range results {
		switch r := &results[i]; {
		case r.refused != nil:
		case r.How == mgj.Exchange.String() && r.Ranges == "" && r.Blocks == 0:
			with = r
		case r.How == noCopies:
			without = r
		}
	}
	if with == nil || without == nil {
		return
	}
	with.ofNoCopies = [2]float64{measure.Round(with.MS/without.MS, 3), measure.Round(with.GB/max(without.GB, 1e-9), 3)}
	b.misses(name, ofNoCopies, with.ofNoCopies[0])
	b.misses(name, bytesOfNoCopies, with.ofNoCopies[1])
}

// timeJoin times a case alone and in the given ways, and verifies each result.
func (b *bench) timeJoin(ctx context.Context, d *devices, c joinCase, ways []mgj.Options) (results []joinResult, err error) {
	parts, err := d.fill(ctx, c)
	if err != nil {
		return nil, err
	}
	one, err := b.onOne(ctx, d, c)
	if err != nil {
		return nil, err
	}
	predicted := map[mgj.Options]float64{}
	for _, p := range d.group.Predict(&d.data.Join) {
		predicted[p.Options()] = measure.Round(p.MS, 3)
	}
	choice := d.group.Choose(&d.data.Join)
	one.Chosen, one.Predicted = choice.Strategy == mgj.Alone, predicted[mgj.Options{Strategy: mgj.Alone}]
	results = append(results, one)
	if !one.Chosen && !slices.Contains(ways, choice.Options()) {
		ways = append(ways, choice.Options())
	}
	for _, w := range ways {
		r, err := b.together(ctx, d, c, parts, w)
		if errors.Is(err, joincore.ErrBudget) || errors.Is(err, joincore.ErrUnsupported) {
			r.refused, err = err, nil
		}
		if err != nil {
			return results, fmt.Errorf("%s: %w", w.Strategy, err)
		}
		r.Ratio = measure.Round(r.MS/one.MS, 3)
		r.Chosen, r.Predicted = !one.Chosen && w == choice.Options(), predicted[w]
		results = append(results, r)
	}
	if c.unified || b.unified && c.Probe <= mostUnified {
		r, err := b.overUnified(ctx, d, parts)
		if err != nil {
			return results, fmt.Errorf("%s: %w", unified, err)
		}
		r.Case, r.Ratio, r.Baseline = c.name, measure.Round(r.MS/one.MS, 3), true
		results = append(results, r)
	}
	return results, nil
}

// dprj is the baseline DPRJ of the MG-Join paper: a GPU partitions all of its rows, copies them
// directly to the GPUs that join them, one for each partition, and joins when all have arrived.
var dprj = mgj.Options{Strategy: mgj.Exchange, Way: mgj.WayCopy, Bypass: mgj.BypassNever, NoCopies: true, NoOverlap: true}

// noCopies names an exchange that copies no small sides.
const noCopies = "exchange, no copies"

// ways returns how a case is joined over several devices.
func (b *bench) ways(c joinCase) (list []mgj.Options) {
	if c.Probe >= 8*c.Build {
		list = append(list, mgj.Options{Strategy: mgj.Replicate})
	}
	list = append(list, mgj.Options{Strategy: mgj.Exchange})
	if c.Zipf > 0 {
		list = append(list, mgj.Options{Strategy: mgj.Exchange, Bypass: mgj.BypassNever})
	}
	if c.colocated {
		list = append(list, mgj.Options{Strategy: mgj.Exchange, NoCopies: true})
	}
	return append(append(list, dprj), b.tune...)
}

// howOf names a way to join over several devices.
func howOf(o mgj.Options) string {
	switch {
	case o == dprj:
		return "dprj"
	case o.NoCopies:
		return noCopies
	case o.Bloom:
		return o.Strategy.String() + ", filter"
	case o.Bypass == mgj.BypassNever:
		return o.Strategy.String() + ", no bypass"
	}
	return o.Strategy.String()
}

// onOne joins on the first device, which has all rows.
func (b *bench) onOne(ctx context.Context, d *devices, c joinCase) (r joinResult, err error) {
	m := d.members[0]
	r = joinResult{Case: c.name, How: alone, Ratio: 1}
	var ms []float64
	for i := range b.repeats + 1 {
		m.Arena.Rewind(d.data.Mark)
		runtime.GC() // not within the measured time
		j := d.data.Join
		j.Phases = b.phases && i == b.repeats
		out, report, err := selector.Run(ctx, m.Device, m.Stream, m.Arena, &j)
		if err != nil {
			return r, err
		}
		if i > 0 && !j.Phases {
			ms = append(ms, report.WallMS)
		}
		r.Algorithm = report.Algorithm
		if i == b.repeats {
			got, err := d.data.Checksum(ctx, out)
			if err != nil {
				return r, err
			}
			if err := d.verify(got); err != nil {
				return r, err
			}
			r.Phases = phasesOf(report)
		}
	}
	r.MS = measure.Round(measure.Median(ms), 3)
	return r, nil
}

// together joins over all devices.
func (b *bench) together(ctx context.Context, d *devices, c joinCase, parts []columnar.Join, o mgj.Options) (r joinResult, err error) {
	r = joinResult{Case: c.name, How: howOf(o), Blocks: o.Blocks, Baseline: o == dprj}
	if o.Ranges[0].Count() > 0 {
		r.Ranges = fmt.Sprintf("%v+%v", o.Ranges[0], o.Ranges[1])
	}
	var ms []float64
	for i := range b.repeats + 1 {
		d.rewind()
		runtime.GC()
		for k := range parts {
			parts[k].Phases = b.phases && i == b.repeats
		}
		out, report, err := d.group.Join(ctx, parts, o)
		if err != nil {
			return r, err
		}
		if i > 0 && !parts[0].Phases {
			ms = append(ms, report.WallMS)
		}
		if i < b.repeats {
			continue
		}
		r.Way = report.Way.String()
		r.Algorithm, r.GB = report.Members[0].Algorithm, measure.Round(float64(report.Bytes)/1e9, 3)
		r.Assigned = measure.Round(float64(report.Assigned)/1e9, 3)
		r.Packed, r.Saved = measure.Round(float64(report.Packed)/1e9, 3), measure.Round(float64(report.Saved)/1e9, 3)
		var got columndata.Checksum
		for k := range d.members {
			sum, err := d.sums[k].Checksum(ctx, out[k])
			if err != nil {
				return r, err
			}
			got.Add(sum)
			if b.phases {
				r.Phases = append(r.Phases, phasesOf(report.Members[k])...)
			}
		}
		if b.phases {
			r.Sent = report.Sent
			r.Phases = append(r.Phases, fmt.Sprintf("sent at %.3f", report.Sent))
			host := "host"
			for _, step := range report.Host {
				host += fmt.Sprintf("; %s %.3f", step.Name, step.MS)
			}
			r.Phases = append(r.Phases, host)
		}
		if err := d.verify(got); err != nil {
			return r, err
		}
	}
	r.MS = measure.Round(measure.Median(ms), 3)
	return r, nil
}

// phasesOf returns a report's phases in one line, if it has any.
func phasesOf(r *columnar.Report) []string {
	var list []string
	for _, p := range r.Phases {
		list = append(list, fmt.Sprintf("%s %.3f", p.Name, p.MS))
	}
	if list == nil {
		return nil
	}
	return []string{fmt.Sprintf("device %.3f of %.3f: %s", r.MS, r.WallMS, strings.Join(list, "; "))}
}
