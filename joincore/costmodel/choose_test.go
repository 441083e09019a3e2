package costmodel_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
)

// memory is a Memory with a limit.
type memory struct {
	lock         sync.Mutex
	inUse, limit int64
}

func (m *memory) Alloc(n int64) ([]byte, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.inUse+n > m.limit {
		return nil, joincore.ErrBudget
	}
	m.inUse += n
	return make([]byte, n), nil
}

func (m *memory) Free(b []byte) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.inUse -= int64(len(b))
}

func TestCalibrateFillsEveryRateWithinItsMemory(t *testing.T) {
	limits := []int64{34 << 20, 80 << 20}
	if raceDetector {
		limits = limits[:1] // a few points say as much
	}
	for _, limit := range limits {
		m := &memory{limit: limit}
		r, share, err := costmodel.Calibrate(context.Background(), cpu.New(), m)
		if err != nil {
			t.Fatal(err)
		}
		spot, spotShare, err := costmodel.Spot(context.Background(), cpu.New(), m)
		if err != nil {
			t.Fatal(err)
		}
		if share <= 0 || share > 1 || spotShare <= 0 || spotShare > 1 || spot <= 0 {
			t.Errorf("shares %v and %v, spot rate %v", share, spotShare, spot)
		}
		if m.inUse != 0 {
			t.Errorf("%d bytes not freed", m.inUse)
		}
		for i := range costmodel.Points {
			if r.BuildNS[i] <= 0 || r.ProbeNS[i] <= 0 {
				t.Errorf("point %d: build %v, probe %v", i, r.BuildNS[i], r.ProbeNS[i])
			}
		}
		if r.ColumnNS <= 0 || r.NPJRows <= 0 {
			t.Errorf("column %v, npj up to %d", r.ColumnNS, r.NPJRows)
		}
		if slices.Min(r.GroupNS[:]) <= 0 || r.FunctionNS <= 0 || r.OperationNS <= 0 || r.ConditionNS <= 0 {
			t.Errorf("groups %v, function %v, operation %v, condition %v", r.GroupNS, r.FunctionNS, r.OperationNS, r.ConditionNS)
		}
	}
	if _, _, err := costmodel.Calibrate(context.Background(), cpu.New(), &memory{limit: 1 << 10}); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("without memory: %v", err)
	}
}

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
