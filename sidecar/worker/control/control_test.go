package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gpujoin/joincore"

	"google.golang.org/protobuf/proto"
)

// fill sets every field of v, so that one that is not translated is missed.
func fill(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.String:
		*n++
		v.SetString(fmt.Sprint("name ", *n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		*n++
		v.SetInt(int64(*n))
	}
}

// TestStats: no field of the statistics is lost.
func TestStats(t *testing.T) {
	var stats joincore.Stats
	n := 0
	fill(reflect.ValueOf(&stats).Elem(), &n)
	sent := EncodeDone(nil, &stats)
	if got, ok := sent.Statistics(2, 2); !ok || !reflect.DeepEqual(got, stats) {
		t.Errorf("%+v\n%+v", got, stats)
	}
	if err := sent.Err(); err != nil {
		t.Error(err)
	}
	stats.Joins[0].Algorithm = strings.Repeat("\xff", 1000)
	stats.Joins[0].Reason = strings.Repeat("\xff", 1000)
	stats.Joins[0].Phases = make([]joincore.Phase, 1000)
	stats.Joins[0].Phases[0] = joincore.Phase{Predicted: -1, Actual: math.MinInt64}
	stats.Strategy, stats.StrategyReason = strings.Repeat("\xff", 1000), strings.Repeat("\xff", 1000)
	stats.Predicted, stats.Met = math.MinInt64, -1
	got, _ := EncodeDone(nil, &stats).Statistics(1, 1)
	if len(got.Strategy) > maxName || len(got.StrategyReason) > maxReason || got.Predicted != 0 || got.Met != 0 {
		t.Errorf("%+v", got)
	}
	if p := got.Joins[0].Phases[0]; p.Predicted != 0 || p.Actual != 0 {
		t.Errorf("%+v", p)
	}
	if len(got.Joins) != 1 || len(got.Aggregates) != 1 || len(got.Joins[0].Algorithm) > maxName || len(got.Joins[0].Reason) > maxReason || len(got.Joins[0].Phases) != maxPhases {
		t.Errorf("%+v", got)
	}
	if got, ok := (&Done{Stats: []byte("{")}).Statistics(1, 1); ok || !reflect.DeepEqual(got, joincore.Stats{}) {
		t.Errorf("malformed statistics: %+v", got)
	}
}

// TestFailures: an error is the same thing on the other side.
func TestFailures(t *testing.T) {
	for _, f := range failures {
		err := EncodeDone(fmt.Errorf("input 3: %w", f.err), nil).Err()
		if !errors.Is(err, f.err) || !strings.HasPrefix(err.Error(), "input 3: ") {
			t.Errorf("%v: %v", f.err, err)
		}
	}
	err := EncodeDone(errors.New("\xff"+strings.Repeat("x", 5000)+"\nsecond line"), nil).Err()
	if err == nil || len(err.Error()) > maxText+100 || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := (&Done{Failure: 99, Text: "a\nb"}).Err(); err == nil || strings.Contains(err.Error(), "b") {
		t.Error(err)
	}
}

// TestSegments: the vectors of a batch are found again where they lie.
func TestSegments(t *testing.T) {
	extent, other := make([]byte, 4096), make([]byte, 256)
	place := placeIn(map[uint64][]byte{5: extent, 6: other})
	want := joincore.Segment{Rows: 16, Columns: []joincore.Vector{
		{Values: extent[64:192:192], Validity: extent[192:194:194]},
		{Values: extent[1024:1092:1092], Heap: extent[4000:4096:4096]},
	}}
	s, err := EncodeSegment(&want, place)
	if err != nil || s.Extent != 5 {
		t.Fatal(s, err)
	}
	got, err := s.Decode(extent, 2)
	if err != nil || !reflect.DeepEqual(got, want) || &got.Columns[1].Heap[0] != &extent[4000] {
		t.Errorf("%+v, %v", got, err)
	}
	for _, elsewhere := range [][]byte{other[128:256], make([]byte, 128)} {
		want.Columns[0].Values = elsewhere
		if _, err := EncodeSegment(&want, place); !errors.Is(err, joincore.ErrUnsupported) {
			t.Error(err)
		}
	}
	s, err = EncodeSegment(&joincore.Segment{Rows: 9}, place)
	if err != nil || s.Extent != 0 {
		t.Error(s, err)
	}
	if got, err := s.Decode(nil, 0); err != nil || got.Rows != 9 || len(got.Columns) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, bad := range map[string]*Segment{
		"nil":        nil,
		"no rows":    {Extent: 5, Spans: make([]uint64, 12)},
		"rows":       {Rows: 1 << 40, Extent: 5, Spans: make([]uint64, 12)},
		"one column": {Rows: 1, Extent: 5, Spans: make([]uint64, 6)},
		"beyond":     {Rows: 1, Extent: 5, Spans: []uint64{4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"overflow":   {Rows: 1, Extent: 5, Spans: []uint64{8, 1<<64 - 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"far":        {Rows: 1, Extent: 5, Spans: []uint64{1<<64 - 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if _, err := bad.Decode(extent, 2); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzToWorker decodes what a worker may be sent.
func FuzzToWorker(f *testing.F) {
	seed, err := proto.Marshal(&ToWorker{Granted: []*Batch{{Segment: &Segment{Extent: 1, Rows: 2, Spans: []uint64{0, 16, 0, 0, 0, 0}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	extent := make([]byte, 4096)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m ToWorker
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		for _, g := range m.GetGranted() {
			if d, err := g.GetSegment().Decode(extent, 1); err == nil && len(d.Columns) != 1 {
				t.Error(d)
			}
		}
	})
}

// FuzzFromWorker decodes what a daemon may be sent.
func FuzzFromWorker(f *testing.F) {
	seed, err := proto.Marshal(&FromWorker{
		Emitted: []*Emitted{{Batch: 1, Rows: 2, Heap: []int64{3}}},
		Done:    EncodeDone(nil, &joincore.Stats{Joins: []joincore.JoinStats{{Phases: []joincore.Phase{{Name: "match"}}}}}),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m FromWorker
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		got, _ := m.GetDone().Statistics(3, 3)
		if len(got.Joins) > 3 || len(got.Aggregates) > 3 || got.JoinTime < 0 {
			t.Error(got)
		}
		for _, j := range got.Joins {
			if len(j.Phases) > maxPhases || len(j.Algorithm) > maxName || j.Time < 0 {
				t.Error(j)
			}
			for _, p := range j.Phases {
				if len(p.Name) > maxName || p.Predicted < 0 || p.Actual < 0 {
					t.Error(p)
				}
			}
		}
		_ = m.GetDone().Err()
	})
}
