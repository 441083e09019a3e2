package report

import (
	"fmt"
	"strings"

	"gpujoin/tests/measure"
)

// gpu returns the table of joins and aggregations on cores and on a GPU, and what became of the
// queries of TPC-H over kept columns.
func (p page) gpu() string {
	var table, texts strings.Builder
	table.WriteString("| rows | PostgreSQL | cores | one GPU |\n|---|---|---|---|\n")
	rows := 0
	for _, of := range []struct {
		d    *measure.Document
		what string
	}{
		{p.joins, "tables read"}, {p.all.newest("gpu-e2e-kept-sf1"), "columns kept"}, {p.all.newest("gpu-e2e-kept-sf10"), "columns kept"},
	} {
		if of.d == nil {
			continue
		}
		queries, longer := 0, 0
		for _, name := range of.d.Names() {
			cores, gpu := of.d.Find(name, measure.Cores), of.d.Find(name, measure.GPU)
			if cores == nil || gpu == nil || len(cores.Ms) == 0 || len(gpu.Ms) == 0 {
				continue
			}
			if strings.HasPrefix(name, "TPC-H ") {
				queries++
				if gpu.Median() > cores.Median() {
					longer++
				}
				continue
			}
			native := ""
			if r := of.d.Find(name, measure.Postgres); r != nil && len(r.Ms) > 0 {
				native = fmt.Sprintf("%.1f ms", r.Median())
			}
			fmt.Fprintf(&table, "| %s, %s | %s | %.1f ms | %.1f ms |\n", name, of.what, native, cores.Median(), gpu.Median())
			rows++
		}
		all := compare(of.d, measure.Cores, of.d, measure.GPU)
		fmt.Fprintf(&texts, "- %s: over these and %d queries of TPC-H at scale factor %v, cores took %.2f times as long as the GPU (geometric mean); %d of the queries took longer on the GPU. %s.\n",
			strings.ToUpper(of.what[:1])+of.what[1:], queries, of.d.Parameters["sf"], all.mean, longer, describe(of.d))
	}
	if rows == 0 {
		return ""
	}
	return table.String() + "\n" + texts.String()
}
