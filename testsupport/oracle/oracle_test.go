package oracle_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
)

// ints makes a relation of one int8 column; nil is NULL. Each row is a
// segment.
func ints(values ...any) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}}}
	for _, v := range values {
		vector := joincore.Vector{Values: make([]byte, 8), Validity: []byte{0}}
		if v != nil {
			vector.Validity[0] = 1
			binary.LittleEndian.PutUint64(vector.Values, uint64(v.(int)))
		}
		r.Segments = append(r.Segments, joincore.Segment{Rows: 1, Columns: []joincore.Vector{vector}})
	}
	return r
}

// readable formats result rows of int8 columns.
func readable(rows oracle.Rows) map[string]int {
	out := map[string]int{}
	for row, n := range rows {
		text := ""
		for row != "" {
			if row[0] == 0 {
				text, row = text+" -", row[1:]
				continue
			}
			text += fmt.Sprintf(" %d", int64(binary.LittleEndian.Uint64([]byte(row[5:13]))))
			row = row[13:]
		}
		out[text[1:]] = n
	}
	return out
}

// TestOracle compares with results worked out by hand, because everything else is
// compared with the oracle.
func TestOracle(t *testing.T) {
	left, right := ints(1, 2, 2, nil, 4), ints(2, 2, 3, nil, 1)
	l, r := joincore.ColumnRef{Input: 0}, joincore.ColumnRef{Input: 1}
	pairs := func(extra map[string]int) map[string]int {
		out := map[string]int{"1 1": 1, "2 2": 4}
		for k, n := range extra {
			out[k] = n
		}
		return out
	}
	for _, c := range []struct {
		kind     joincore.Kind
		residual joincore.Expr
		want     map[string]int
	}{
		{joincore.Inner, nil, pairs(nil)},
		{joincore.Left, nil, pairs(map[string]int{"- -": 1, "4 -": 1})},
		{joincore.Right, nil, pairs(map[string]int{"- -": 1, "- 3": 1})},
		{joincore.Full, nil, pairs(map[string]int{"- -": 2, "4 -": 1, "- 3": 1})},
		{joincore.Semi, nil, map[string]int{"1": 1, "2": 2}},
		{joincore.Anti, nil, map[string]int{"-": 1, "4": 1}},
		{joincore.Inner, &joincore.Compare{Op: joincore.Greater, Left: l, Right: joincore.Int(1)}, map[string]int{"2 2": 4}},
		{joincore.Left, &joincore.Compare{Op: joincore.Less, Left: r, Right: joincore.ParameterIndex(0)}, map[string]int{"1 1": 1, "2 -": 2, "- -": 1, "4 -": 1}},
		{joincore.Anti, &joincore.Compare{Op: joincore.Equal, Left: r, Right: joincore.ParameterIndex(1)}, map[string]int{"1": 1, "2": 2, "-": 1, "4": 1}},
	} {
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: left.Columns}, {Columns: right.Columns}},
			Root: &joincore.Join{
				Kind: c.kind, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
				Keys: []joincore.KeyPair{{Left: l, Right: r, Class: joincore.KeyInt}}, Residual: c.residual,
			},
			Output:     []joincore.ColumnRef{l, r},
			Parameters: []joincore.Parameter{{Int: 2}, {Null: true}},
		}
		if c.kind == joincore.Semi || c.kind == joincore.Anti {
			plan.Output = plan.Output[:1]
		}
		rows, err := oracle.Run(plan, []*joincore.Relation{left, right})
		if err != nil {
			t.Fatal(err)
		}
		if got := readable(rows); !reflect.DeepEqual(got, c.want) {
			t.Errorf("kind %d, residual %v: %v, want %v", c.kind, c.residual, got, c.want)
		}
	}
}

// TestOracleThreeValuedLogic: a filter passes only rows for which it is true.
func TestOracleThreeValuedLogic(t *testing.T) {
	column := joincore.ColumnRef{}
	isOne := &joincore.Compare{Op: joincore.Equal, Left: column, Right: joincore.Int(1)}
	isNull := &joincore.IsNull{Arg: column}
	for _, c := range []struct {
		predicate joincore.Expr
		want      map[string]int
	}{
		{isOne, map[string]int{"1": 1}},
		{&joincore.Not{Arg: isOne}, map[string]int{"2": 1}},
		{isNull, map[string]int{"-": 1}},
		{&joincore.Or{Args: []joincore.Expr{isOne, isNull}}, map[string]int{"1": 1, "-": 1}},
		{&joincore.And{Args: []joincore.Expr{isOne, isNull}}, map[string]int{}},
		{&joincore.Not{Arg: &joincore.And{Args: []joincore.Expr{isOne, isNull}}}, map[string]int{"1": 1, "2": 1}},
		{&joincore.And{}, map[string]int{"1": 1, "2": 1, "-": 1}},
		{&joincore.Or{}, map[string]int{}},
	} {
		r := ints(1, 2, nil)
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: r.Columns}},
			Root:   &joincore.Filter{Child: &joincore.Scan{}, Predicate: c.predicate},
			Output: []joincore.ColumnRef{column},
		}
		rows, err := oracle.Run(plan, []*joincore.Relation{r})
		if err != nil {
			t.Fatal(err)
		}
		if got := readable(rows); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v: %v, want %v", c.predicate, got, c.want)
		}
	}
}
