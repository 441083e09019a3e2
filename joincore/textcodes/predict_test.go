package textcodes_test

import (
	"math"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/program"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/suite"
)

// TestPrediction counts what cores do before a device can group by texts: more for more
// different ones, and too much for more than a dictionary holds.
func TestPrediction(t *testing.T) {
	columns := []joincore.Column{{Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 4, Align: 4}}
	predict := func(rows int, groups float64, column, cores int) float64 {
		in := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows}}}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: columns}}, Output: []joincore.ColumnRef{{Input: 1}},
			Root: &joincore.Aggregate{
				Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{Column: column}}, Rows: groups,
				Functions: []joincore.Function{{Kind: joincore.Count}},
			},
		}
		return textcodes.PredictDevice(program.CheckPlan, suite.Checked(t, plan), []*joincore.Relation{in}, &costmodel.DefaultDeviceRates, cores, nil, false)
	}
	const rows = 1 << 26
	integers, few, many := predict(rows, 10, 1, 8), predict(rows, 10, 0, 8), predict(rows, 1e6, 0, 8)
	if !(integers < few && few < many) {
		t.Errorf("%.1f ms by integers, %.1f ms by texts, %.1f ms by more of them", integers, few, many)
	}
	if one := predict(rows, 10, 0, 1); one < 4*(few-integers) {
		t.Errorf("%.1f ms on one core, %.1f ms on 8", one, few)
	}
	if all := predict(rows, 5e7, 0, 8); !math.IsInf(all, 1) {
		t.Errorf("%.1f ms of texts that no dictionary holds", all)
	}
	if all := predict(1000, 5e7, 0, 8); math.IsInf(all, 1) {
		t.Error("1000 rows have too many different texts")
	}
}

// TestPredictionOfKeptCodes: codes of few different texts with contents cost nothing where there is
// a memo, and those of many, which it does not keep, cost about as much on many cores as on two.
func TestPredictionOfKeptCodes(t *testing.T) {
	columns := []joincore.Column{{Kind: joincore.Varlena, Align: 4}}
	predict := func(content uint64, groups float64, cores int, memo bool) float64 {
		in := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: 1 << 26, Columns: []joincore.Vector{{Content: content}}}}}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: columns}}, Output: []joincore.ColumnRef{{Input: 1}},
			Root: &joincore.Aggregate{
				Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Rows: groups,
				Functions: []joincore.Function{{Kind: joincore.Count}},
			},
		}
		return textcodes.PredictDevice(program.CheckPlan, suite.Checked(t, plan), []*joincore.Relation{in}, &costmodel.DefaultDeviceRates, cores, nil, memo)
	}
	const few, many = 10, 1e6
	if kept, others, none := predict(7, few, 8, true), predict(0, few, 8, true), predict(7, few, 8, false); kept >= others || others != none {
		t.Errorf("%.1f ms of kept codes, %.1f ms of others, %.1f ms without a memo", kept, others, none)
	}
	if kept, others := predict(7, many, 8, true), predict(7, many, 8, false); kept != others {
		t.Errorf("%.1f and %.1f ms of many texts", kept, others)
	}
	if two, sixteen := predict(7, many, 2, true), predict(7, many, 16, true); sixteen < 0.9*two {
		t.Errorf("%.1f ms of many texts on two cores, %.1f ms on sixteen", two, sixteen)
	}
}

// TestPredictionOfTheLeast: texts are sorted, if there are not too many different ones.
func TestPredictionOfTheLeast(t *testing.T) {
	columns := []joincore.Column{{Kind: joincore.Varlena, Align: 4}}
	predict := func(kind joincore.FunctionKind, groups float64) float64 {
		in := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: 1 << 24}}}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: columns}}, Output: []joincore.ColumnRef{{Input: 1, Column: 1}},
			Root: &joincore.Aggregate{
				Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Rows: groups,
				Functions: []joincore.Function{{Kind: kind, Arg: joincore.ColumnRef{}}},
			},
		}
		return textcodes.PredictDevice(program.CheckPlan, suite.Checked(t, plan), []*joincore.Relation{in}, &costmodel.DefaultDeviceRates, 8, nil, false)
	}
	if counted, least := predict(joincore.Count, 1e5), predict(joincore.Min, 1e5); least < counted+10 {
		t.Errorf("%.1f ms to count, %.1f ms to find the least", counted, least)
	}
	if few, many := predict(joincore.Min, 1e6), predict(joincore.Min, 2e6); math.IsInf(few, 1) || !math.IsInf(many, 1) {
		t.Errorf("%.1f and %.1f ms", few, many)
	}
}

// TestPredictionOfConditions: cores evaluate a condition over texts of an input for all of
// its rows, and others not.
func TestPredictionOfConditions(t *testing.T) {
	columns := []joincore.Column{{Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 4, Align: 4}}
	const rows, cores = 1 << 24, 4
	in := []*joincore.Relation{{Columns: columns, Segments: []joincore.Segment{{Rows: rows}}}}
	predict := func(e joincore.Expr, filters int) (onCores, onDevice float64) {
		var root joincore.Node = &joincore.Scan{}
		for range filters {
			root = &joincore.Filter{Child: root, Predicate: e}
		}
		plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: columns}}, Root: root, Output: []joincore.ColumnRef{{Column: 1}}}
		return textcodes.PredictCores(suite.Checked(t, plan), in, &costmodel.Rates{ColumnNS: 0.5, NPJRows: 1 << 18}, cores),
			textcodes.PredictDevice(program.CheckPlan, suite.Checked(t, plan), in, &costmodel.DefaultDeviceRates, cores, nil, false)
	}
	number := &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Column: 1}, Right: joincore.Int(1)}
	text := &joincore.Like{Arg: joincore.ColumnRef{}, Pattern: []byte("%a"), Encoding: joincore.UTF8}
	coresNumber, deviceNumber := predict(number, 1)
	coresText, deviceText := predict(text, 1)
	const least = 10.0 * rows / cores / 1e6 // ms; BenchmarkColumns measures about 10 to 60 ns
	if coresText-coresNumber < least || deviceText-deviceNumber < least {
		t.Errorf("on cores %.1f and %.1f ms, on a device %.1f and %.1f ms", coresNumber, coresText, deviceNumber, deviceText)
	}
	twice, _ := predict(text, 2)
	again, _ := predict(number, 2)
	if more := twice - again; more > 1.01*(coresText-coresNumber) {
		t.Errorf("a second condition over the rows that are left adds %.1f to %.1f ms", more, coresText-coresNumber)
	}
}
