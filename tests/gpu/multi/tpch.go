//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// filtered are joins over several devices after a filter of the build keys.
var filtered = []mgj.Options{{Strategy: mgj.Exchange, Bloom: true}, {Strategy: mgj.Replicate, Bloom: true}}

// measureTPCH times the joins of TPC-H queries on one device and on all: an exchange and a replicated
// build side, each also after a filter of the build keys. Keys are in no order, so lineitem and
// orders are not clustered as they are in TPC-H's files. The bars are for one scale factor.
func (b *bench) measureTPCH(ctx context.Context) (err error) {
	d, err := b.openDevices(shares)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.measureRates(ctx); err != nil {
		return err
	}
	rows := []string{"join\trows\tkey\tmatch\thow\tway\tchosen\tof best\talgorithm\tpredicted\tms\tof one\tbar\tGB sent\tlinks, ms\tbounded by"}
	var notes []string
	queries := newQueries()
	for _, j := range tpchJoins() {
		at := j.at(b.tpchSF)
		c := joinCase{name: j.name, Case: columndata.Case{
			Build: at.build, Probe: at.probe, Key: at.key, BuildWidths: at.buildWidths, ProbeWidths: at.probeWidths,
			Distinct: at.distinct, Domain: at.domain,
		}}
		bar := measure.BarOf(suite, j.name, ofOne)
		if bar.SF != b.tpchSF {
			bar = measure.Bar{}
		}
		results, err := b.timeJoin(ctx, d, c, append([]mgj.Options{{Strategy: mgj.Exchange}, {Strategy: mgj.Replicate}}, filtered...))
		if errors.Is(err, joincore.ErrBudget) {
			notes = append(notes, fmt.Sprintf("%s is left out: %v; a smaller -tpch-sf takes less memory", j.name, err))
			if bar.Exists() {
				b.wrong++
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		best := b.judgeChoice(results)
		best.Bound = boundBy(best.How, results[0].MS, best.MS, d.linksMS(best.GB*1e9), len(d.members))
		queries.add(j.name, results[0].MS, best.MS)
		if !bar.Met(best.Ratio) {
			b.wrong++
		}
		for i := range results {
			r := &results[i]
			rows = append(rows, r.tpchRow(&at, j.result, b.tpchSF, bar, d.linksMS(r.GB*1e9)))
			if r.refused != nil {
				notes = append(notes, fmt.Sprintf("%s, %s: %v", r.Case, r.How, r.refused))
			}
			for _, p := range r.Phases {
				notes = append(notes, fmt.Sprintf("%s, %s %s, %s", r.Case, r.How, r.Way, p))
			}
		}
		b.record(results)
	}
	fmt.Printf("TPC-H, scale factor %g\n", b.tpchSF)
	err = errors.Join(measure.Table(os.Stdout, rows...), queries.print())
	for _, line := range notes {
		fmt.Println(line)
	}
	return err
}

// tpchRow is a result's line in the table of these joins.
func (r *joinResult) tpchRow(at *tpchRows, result int64, sf float64, bar measure.Bar, links float64) string {
	limit, chosen, ms, ratio, sent, busy := "", "", "-", "-", "-", "-"
	if r.Chosen {
		chosen = "*"
	}
	if r.How != alone {
		limit = bar.String()
	}
	ofBest, predicted := r.judged()
	if r.refused == nil {
		ms, ratio = fmt.Sprintf("%.3f", r.MS), fmt.Sprintf("%.3f", r.Ratio)
		sent, busy = fmt.Sprintf("%.3f", r.GB), fmt.Sprintf("%.3f", links)
	}
	return strings.Join([]string{
		r.Case, fmt.Sprintf("%.2f x %.2f M", float64(at.build)/1e6, float64(at.probe)/1e6), fmt.Sprintf("%d B", at.key),
		fmt.Sprintf("%.1f %%", 100*float64(result)*sf/float64(at.probe)), r.How, r.Way, chosen, ofBest, r.Algorithm, predicted, ms, ratio, limit, sent, busy, r.Bound,
	}, "\t")
}

// queries adds up the joins of each query.
type queries struct {
	names    []string
	one, all map[string]float64 // ms
}

func newQueries() *queries { return &queries{one: map[string]float64{}, all: map[string]float64{}} }

// add adds a join, whose name begins with that of its query.
func (q *queries) add(join string, one, all float64) {
	query, _, _ := strings.Cut(join, "-")
	if _, ok := q.one[query]; !ok {
		q.names = append(q.names, query)
	}
	q.one[query] += one
	q.all[query] += all
}

// print prints a line for each query: its joins on one device, and each in the fastest way.
func (q *queries) print() error {
	rows := []string{"joins of\tone device, ms\tfastest, ms\tof one\ttimes one"}
	for _, name := range q.names {
		one, all := q.one[name], q.all[name]
		rows = append(rows, fmt.Sprintf("%s\t%.2f\t%.2f\t%.2f\t%.2f", name, one, all, all/one, one/all))
	}
	return measure.Table(os.Stdout, rows...)
}
