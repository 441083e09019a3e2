package sidecar

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// A reset moves what is counted since, and leaves the totals and the phases, which only grow.
func TestResetCounts(t *testing.T) {
	r := start(t, nil, nil)
	ask := func(request func(*backend.Conn) ([]byte, error)) (status Status) {
		t.Helper()
		c := r.dial(99)
		defer c.Close()
		text, err := request(c)
		must(t, err)
		must(t, json.Unmarshal(text, &status))
		return status
	}
	work := func() {
		t.Helper()
		_, err := r.dial(7).Open(shm.Open{}, joinJob(1e17, 1e17, 1))
		wantFailure(t, err, shm.FailBudget)
		r.srv.phases.took(joinPhase, 2*time.Second)
	}

	before := time.Now()
	work()
	first := ask((*backend.Conn).Status)
	if s := first.SinceReset; !reflect.DeepEqual(s.Totals, first.Totals) || s.PhaseS["join"] != 2 || len(s.PhaseS) != int(nPhases) {
		t.Errorf("before any reset: %+v, totals %+v", s, first.Totals)
	}
	if started := float64(r.srv.started.UnixMicro()) / 1e6; first.SinceReset.SinceS != started {
		t.Errorf("counts begin at %f, the daemon at %f", first.SinceReset.SinceS, started)
	}
	reset := ask((*backend.Conn).StatusReset)
	if s := reset.SinceReset; s.Totals.Refused != 0 || s.PhaseS["join"] != 0 || len(s.Totals.Reasons) != 0 || s.SinceS < float64(before.UnixMicro())/1e6 {
		t.Errorf("after the reset: %+v", s)
	}
	work()
	last := ask((*backend.Conn).Status)
	if s := last.SinceReset; s.Totals.Refused != 1 || s.PhaseS["join"] != 2 || !maps.Equal(s.Totals.Reasons, map[string]int64{"budget": 1}) ||
		s.SinceS != reset.SinceReset.SinceS {
		t.Errorf("after more work: %+v", s)
	}
	if last.Totals.Refused != 2 || last.Totals.Reasons["budget"] != 2 || last.Phases[joinPhase].SumS != 4 || last.Phases[joinPhase].Count != 2 {
		t.Errorf("the totals were reset: %+v, %+v", last.Totals, last.Phases)
	}
}

// Each of the totals is subtracted.
func TestTotalsMinus(t *testing.T) {
	fill := func(n int64) (out totals) {
		v := reflect.ValueOf(&out).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Int64 {
				f.SetInt(n + int64(i))
			}
		}
		return out
	}
	now, before := fill(100), fill(40)
	now.Reasons, before.Reasons = map[string]int64{"busy": 3, "share": 1, "budget": 5}, map[string]int64{"busy": 3, "budget": 1}
	v := reflect.ValueOf(now.minus(&before))
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Int64 && f.Int() != 60 {
			t.Errorf("%s is %d", v.Type().Field(i).Name, f.Int())
		}
	}
	if got := now.minus(&before).Reasons; !maps.Equal(got, map[string]int64{"share": 1, "budget": 4}) {
		t.Errorf("reasons %v", got)
	}
}

// TestMinusSubtractsEveryCounter: a counter that is added to totals later must be in minus, too.
func TestMinusSubtractsEveryCounter(t *testing.T) {
	now, before := totals{Reasons: map[string]int64{"a": 5, "b": 2}}, totals{Reasons: map[string]int64{"a": 2, "b": 2}}
	for i := range reflect.TypeFor[totals]().NumField() {
		if f := reflect.ValueOf(&now).Elem().Field(i); f.CanInt() {
			f.SetInt(5)
			reflect.ValueOf(&before).Elem().Field(i).SetInt(2)
		}
	}
	out := reflect.ValueOf(now.minus(&before))
	for i := range out.NumField() {
		if f := out.Field(i); f.CanInt() && f.Int() != 3 {
			t.Errorf("%s: %d, want 3", out.Type().Field(i).Name, f.Int())
		}
	}
	if got := out.FieldByName("Reasons").Interface(); !reflect.DeepEqual(got, map[string]int64{"a": 3}) {
		t.Errorf("reasons: %v", got)
	}
}
