package costmodel_test

import (
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

func TestRatesInterpolateAndClamp(t *testing.T) {
	r := costmodel.Rates{BuildNS: [costmodel.Points]float64{1, 2, 3, 4, 5, 6, 7, 8}}
	for n, want := range map[int64]float64{0: 1, 1: 1, 1 << 10: 1, 1 << 11: 1.5, 1 << 12: 2, 1 << 24: 8, 1 << 40: 8} {
		if got := r.Build(n); got != want {
			t.Errorf("Build(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestBuildSide(t *testing.T) {
	for _, c := range []struct {
		join costmodel.Join
		left bool
	}{
		{costmodel.Join{LeftRows: 10, RightRows: 20}, true},
		{costmodel.Join{LeftRows: 20, RightRows: 10}, false},
		{costmodel.Join{LeftRows: 10, RightRows: 10}, false},
		{costmodel.Join{LeftRows: 10, RightRows: 15, LeftPipelined: true}, false},
		{costmodel.Join{LeftRows: 10, RightRows: 25, LeftPipelined: true}, true},
	} {
		if got := c.join.BuildLeft(); got != c.left {
			t.Errorf("%+v: build left = %v", c.join, got)
		}
	}
}

func TestAlgorithm(t *testing.T) {
	r := &costmodel.Rates{NPJRows: 1000}
	for _, c := range []struct {
		build, probe int64
		pipelined    bool
		dense        bool
		want         joincore.Algorithm
	}{
		{1000, 1e6, false, false, joincore.NPJ},
		{1001, 1e6, false, false, joincore.PHJOM},
		{1001, 1e6, false, true, joincore.NPJ},
		{1001, 1e6, true, false, joincore.NPJ},
		{1e9, 1e9, true, true, joincore.PHJOM},
		{1e6, 10, false, false, joincore.NPJ},
	} {
		got, err := r.Algorithm(costmodel.Side{
			BuildRows: c.build, ProbeRows: c.probe, ProbePipelined: c.pipelined,
			Dense: func() (bool, error) { return c.dense, nil },
		})
		if got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	failed := errors.New("failed")
	if _, err := r.Algorithm(costmodel.Side{BuildRows: 1e6, ProbeRows: 1e6, Dense: func() (bool, error) { return false, failed }}); err != failed {
		t.Errorf("error of the keys: %v", err)
	}
}

func TestMaterialisation(t *testing.T) {
	r := &costmodel.Rates{NPJRows: 1000}
	for _, c := range []struct {
		result  int64
		columns int
		want    joincore.Algorithm
	}{
		{0, 10, joincore.PHJOM},           // unknown
		{1e6, 2, joincore.PHJOM},          // every row matches
		{1e6, 20, joincore.PHJOM},         // also when wide
		{1e4, 1, joincore.PHJOM},          // narrow: a row number costs as much
		{1e4, 10, joincore.PHJUM},         // wide, few matches
		{100_000_000, 10, joincore.PHJOM}, // many to many
	} {
		got, err := r.Algorithm(costmodel.Side{
			BuildRows: 1e6, ProbeRows: 1e6, ResultRows: c.result, Columns: c.columns,
			Dense: func() (bool, error) { return false, nil },
		})
		if got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func TestBits(t *testing.T) {
	for n, want := range map[int64]int{0: 1, 1 << 14: 1, 1 << 20: 6, 10_000_000: 10, 1 << 40: 11} {
		if got := costmodel.Bits(n); got != want {
			t.Errorf("Bits(%d) = %d, want %d", n, got, want)
		}
	}
}
