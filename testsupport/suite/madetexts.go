package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// MadeTexts joins texts that backends have fed with those that an aggregate has made: the
// least and the greatest of a group, and computed group keys. Each finds its partner, also
// around the length at which headers get longer.
func MadeTexts(t *testing.T, s Subject) {
	var payloads [][]byte
	for i, n := range []int{0, 1, 2, 3, 125, 126, 127, 128, 1500} {
		payloads = append(payloads, bytes.Repeat([]byte{byte('a' + i)}, n))
	}
	fed, grouped := fedTexts(payloads), fedTexts(append(payloads, payloads...))
	text, number := joincore.ColumnRef{Input: 1, Column: 1}, joincore.ColumnRef{Input: 1}
	empty := &joincore.Text{}
	for name, a := range map[string]*joincore.Aggregate{
		"least":           {Keys: []joincore.Value{number}, Functions: []joincore.Function{{Kind: joincore.Min, Arg: text}}},
		"greatest":        {Keys: []joincore.Value{number}, Functions: []joincore.Function{{Kind: joincore.Max, Arg: text}}},
		"computed key":    {Keys: []joincore.Value{&joincore.Coalesce{Args: []joincore.Value{text, empty}}}},
		"key of a column": {Keys: []joincore.Value{text}},
	} {
		a.ID, a.Child = 2, &joincore.Scan{Input: 1}
		made := joincore.ColumnRef{Input: 2, Column: len(a.Keys) + len(a.Functions) - 1}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: fed.Columns}, {Columns: grouped.Columns}},
			Root: &joincore.Join{
				Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: a,
				Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Column: 1}, Right: made, Class: joincore.KeyVarlena}},
			},
			Output: []joincore.ColumnRef{{Input: 0, Column: 0}, {Input: 0, Column: 1}, made},
		}
		if !s.runs(t, plan) {
			continue
		}
		for _, algorithm := range s.Algorithms {
			for _, buildLeft := range []bool{false, true} {
				opt := exec.Options{Decide: func(int, costmodel.Decision) costmodel.Decision {
					return costmodel.Decision{Algorithm: algorithm, BuildLeft: buildLeft, Bits: 2}
				}}
				name := fmt.Sprintf("%s, %s, build left %t", name, algorithm, buildLeft)
				stats := Check(t, name, s.Provider, plan, []*joincore.Relation{fed, grouped}, 100, opt)
				if stats.RowsOut != int64(len(payloads)) {
					t.Errorf("%s: %d rows, want %d", name, stats.RowsOut, len(payloads))
				}
			}
		}
	}
}

// fedTexts makes a relation of numbers and texts as backends feed them, a row for each
// payload. Equal payloads have equal numbers.
func fedTexts(payloads [][]byte) *joincore.Relation {
	numbers, texts := joincore.Vector{}, joincore.Vector{Values: make([]byte, 4)}
	for _, p := range payloads {
		numbers.Values = binary.LittleEndian.AppendUint64(numbers.Values, uint64(len(p)))
		texts.Heap = append(texts.Heap, FedText(p, 4)...)
		texts.Values = binary.LittleEndian.AppendUint32(texts.Values, uint32(len(texts.Heap)))
	}
	return &joincore.Relation{
		Columns:  []joincore.Column{fixed(8), {Kind: joincore.Varlena, Align: 4}},
		Segments: []joincore.Segment{{Rows: len(payloads), Columns: []joincore.Vector{numbers, texts}}},
	}
}

// FedText is a text as backends feed it.
func FedText(payload []byte, align int) []byte {
	value := make([]byte, joincore.TextSize(len(payload), align))
	joincore.PutText(value, payload)
	return value
}
