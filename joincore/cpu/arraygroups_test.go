package cpu_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestGroupsOfArrays groups by keys that an array of groups is made for, that
// make it grow again and again, and that make it give up midway.
func TestGroupsOfArrays(t *testing.T) {
	const n = 6000
	r := rand.New(rand.NewPCG(1, 4))
	for name, pick := range map[string]func(row int) (integer int64, text int){
		"few":        func(int) (int64, int) { return int64(r.IntN(5)) - 2, r.IntN(3) },
		"ascending":  func(row int) (int64, int) { return int64(row / 4), r.IntN(10) },
		"descending": func(row int) (int64, int) { return -int64(row / 4), 0 },
		"both ways":  func(row int) (int64, int) { return int64(row) * int64(1-row%2*2), 0 },
		"late giant": func(row int) (int64, int) { return int64(row/5999) * math.MaxInt64, row % 7 },
		"extremes":   func(int) (int64, int) { return math.MinInt64 + int64(r.IntN(3))*math.MaxInt64, r.IntN(70) },
		"many texts": func(row int) (int64, int) { return 0, row },
	} {
		columns := []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4}}
		integers, texts := joincore.Vector{Validity: make([]byte, (n+7)/8)}, joincore.Vector{Values: make([]byte, 4)}
		for row := range n {
			integer, text := pick(row)
			integers.Values = binary.LittleEndian.AppendUint64(integers.Values, uint64(integer))
			if r.IntN(20) > 0 {
				integers.Validity[row/8] |= 1 << (row % 8)
			}
			// Texts of 1 to 74 bytes, which differ in one.
			payload := make([]byte, text%73+2)
			binary.LittleEndian.PutUint16(payload[len(payload)/2-1:], uint16(text))
			texts.Heap = binary.LittleEndian.AppendUint32(texts.Heap, uint32(len(payload)+4)<<2)
			texts.Heap = append(append(texts.Heap, payload...), make([]byte, -len(payload)&3)...)
			texts.Values = binary.LittleEndian.AppendUint32(texts.Values, uint32(len(texts.Heap)))
		}
		relation := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: n, Columns: []joincore.Vector{integers, texts}}}}
		integer, text := joincore.ColumnRef{}, joincore.ColumnRef{Column: 1}
		for _, keys := range [][]joincore.Value{{integer}, {text}, {integer, text}, {text, integer}, {&joincore.Coalesce{Args: []joincore.Value{text}}, integer}} {
			plan := &joincore.Plan{
				Inputs: []joincore.Input{{Columns: columns}},
				Root: &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: keys, Functions: []joincore.Function{
					{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: integer}, {Kind: joincore.Min, Arg: text},
				}},
			}
			for i := range len(keys) + 3 {
				plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
			}
			for _, groups := range []int{0, 100} {
				opt := exec.Options{Device: device.Options{Streams: 2, ChunkRows: 64, Groups: groups}}
				suite.Check(t, name, cpu.New(), plan, []*joincore.Relation{relation}, 100, opt)
			}
		}
	}
}
