package exec_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
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
		r, share, err := exec.Calibrate(context.Background(), cpu.New(), m)
		if err != nil {
			t.Fatal(err)
		}
		spot, spotShare, err := exec.Spot(context.Background(), cpu.New(), m)
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
	if _, _, err := exec.Calibrate(context.Background(), cpu.New(), &memory{limit: 1 << 10}); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("without memory: %v", err)
	}
}
