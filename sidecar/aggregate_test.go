package sidecar

import (
	"encoding/binary"
	"fmt"
	"testing"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// aggregateJob groups a table by its key.
func aggregateJob(rows int) []byte {
	column := func(input, column int) string { return fmt.Sprintf(`{"input":%d,"column":%d}`, input, column) }
	value := func(c int) string { return `{"column":` + column(0, c) + `}` }
	return fmt.Appendf(nil, `{"version":3,"static":{"inputs":[
	 {"database":1,"relation":2,"name":"t","feed":"page","rows":%d,"row_bytes":32,"columns":%s}],
	 "root":{"op":"project","columns":[%s,%s,%s,%s,%s],
	 "child":{"op":"aggregate","id":1,"rows":10,"keys":[%s],"functions":[
	  {"fn":"count"},{"fn":"sum","arg":%s},{"fn":"sum_squares","arg":%s},{"fn":"bool_or","arg":{"truth":{"is_null":%s}}}],
	 "child":{"op":"scan","input":0}}}},
	 "runtime":{"generation":1,"parameters":[],"snapshot":"","lsn":""}}`, rows, jobColumns,
		column(1, 0), column(1, 1), column(1, 2), column(1, 3), column(1, 4), value(0), value(1), value(1), value(2))
}

// aggregateShapes are those of aggregateJob's output.
var aggregateShapes = []shm.ColumnShape{
	tableShapes[0], tableShapes[0], {Encoding: shm.EncFixed, Width: 16, Align: 8},
	{Encoding: shm.EncFixed, Width: 32, Align: 8}, {Encoding: shm.EncFixed, Width: 1, Align: 1},
}

// TestAggregate: groups reach the backend in columns of 16 and 32 bytes, and
// the report says how they were made.
func TestAggregate(t *testing.T) {
	r := start(t, nil, nil)
	table := tableRows(3000, 10, "t")
	b := r.dial(0)
	_, err := b.Open(shm.Open{}, aggregateJob(len(table)))
	must(t, err)
	must(t, b.Feed(0, tableShapes, table, 700))
	must(t, b.Fed(shm.Fed{Rows: uint64(len(table))}))
	must(t, b.Run(1))
	rows, err := b.Drain(aggregateShapes, 2)
	must(t, err)
	sameRows(t, rows, groupsOf(table))
	stats, err := b.Stats()
	must(t, err)
	if stats.RowsOut != 11 || len(stats.AggregateList) != 1 {
		t.Fatalf("statistics %+v", stats)
	}
	if a := stats.AggregateList[0]; shm.Text(a.Strategy[:]) != "hash" || a.RowsIn != uint64(len(table)) || a.Groups != 11 || a.Bytes == 0 {
		t.Errorf("statistics of the aggregate %+v", a)
	}
	if n := totalsOf(t, r); n.Blocks != 1 || n.Joins != 0 {
		t.Errorf("counted %d blocks and %d joins", n.Blocks, n.Joins)
	}
	b.Close()
}

// groupsOf is the expected result of aggregateJob, as sorted lines.
func groupsOf(table [][]backend.Value) []string {
	type group struct {
		key                 backend.Value
		count, sum, squares uint64
		null                byte
	}
	groups := map[string]*group{}
	for _, row := range table {
		g := groups[string(row[0])]
		if g == nil {
			g = &group{key: row[0]}
			groups[string(row[0])] = g
		}
		x := binary.LittleEndian.Uint64(row[1])
		g.count, g.sum, g.squares = g.count+1, g.sum+x, g.squares+x*x
		if row[2] == nil {
			g.null = 1
		}
	}
	var rows [][]backend.Value
	for _, g := range groups {
		rows = append(rows, []backend.Value{
			g.key, backend.Int64(int64(g.count)), append(backend.Int64(int64(g.sum)), make([]byte, 8)...),
			append(backend.Int64(int64(g.squares)), make([]byte, 24)...), {g.null},
		})
	}
	return lines(rows)
}
