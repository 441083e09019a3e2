package encode_test

import (
	"math"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/encode"
	"gpujoin/joincore/program"
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
		return encode.PredictDevice(program.CheckPlan, plan, []*joincore.Relation{in}, &costmodel.DefaultDeviceRates, cores)
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
