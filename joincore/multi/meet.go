package multi

import (
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/exchange"
)

// slack is how many more rows than the mean a member may get before the bytes that are
// sent stop to count.
const slack = 0.1

// rowsPerPartition is how many rows a partition of an exchange should have: enough
// partitions to divide evenly, few enough to assign quickly.
const rowsPerPartition = 1 << 14

// partitions returns the number of partitions for some rows.
func (x *coordinator) partitions(rows int64) int {
	if n := x.p.opt.Partitions; n > 0 {
		return n
	}
	n := 1
	for n < 8*x.members() || n < mostPartitions/4 && int64(n)*rowsPerPartition < rows {
		n *= 2
	}
	return n
}

// meet exchanges the rows of the sides of a join so that partners meet, and returns the
// left and the right side's.
func (x *coordinator) meet(n *joincore.Join, buildLeft bool, left, right *side) ([]*table, error) {
	stats := &x.stats.Joins[x.number[n]]
	start := time.Now()
	defer left.forget()
	defer right.forget()
	partitions := x.partitions(left.table.rows() + right.table.rows())
	if len(n.Keys) == 0 {
		partitions = 1
	}
	for _, s := range []*side{left, right} {
		if err := s.hash(partitions); err != nil {
			return nil, err
		}
	}
	build, probe := left, right
	if !buildLeft {
		build, probe = right, left
	}
	stats.BuildRows, stats.ProbeRows = build.table.rows(), probe.table.rows()
	a, err := exchange.Assign(
		exchange.Histograms{build.histogram(partitions), probe.histogram(partitions)}, x.p.group.Mesh(),
		exchange.Limits{
			Width: [2]int64{build.width(), probe.width()},
			Copy:  [2]bool{build.copy, probe.copy}, Keep: [2]bool{build.keep, probe.keep}, Slack: slack,
		})
	if err != nil {
		return nil, err
	}
	to := map[*side][][]uint64{build: a.To[exchange.Build], probe: a.To[exchange.Probe]}
	tables := make([]*table, 2)
	for i, s := range []*side{left, right} {
		if tables[i], err = s.deliver(to[s]); err != nil {
			return nil, err
		}
	}
	stats.Phases = []joincore.Phase{{Name: "exchange", Actual: time.Since(start)}}
	return tables, nil
}

// gather exchanges the needed columns of rows so that those with the same key meet. Without a
// key all meet on the first member.
func (t *table) gather(key []joincore.ColumnRef, need columns) (*table, error) {
	x, partitions := t.x, 1
	s := side{table: t, groups: true, keep: true, need: need}
	for _, c := range key {
		s.key = append(s.key, keyColumn{ref: c})
	}
	defer s.forget()
	if len(key) > 0 {
		partitions = x.partitions(t.rows())
	}
	if err := s.hash(partitions); err != nil {
		return nil, err
	}
	to := [][]uint64{slices.Repeat([]uint64{1}, x.members())}
	if len(key) > 0 {
		var err error
		if to, err = exchange.Collocate(s.histogram(partitions), x.p.group.Mesh(), s.width(), slack); err != nil {
			return nil, err
		}
	}
	return s.deliver(to)
}
