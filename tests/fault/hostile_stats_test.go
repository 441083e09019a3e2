package fault

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/testsupport/backend"
)

// Offsets in a STATS message.
var (
	statsJoins        = 56
	statsParticipants = 60
	statsJoin         = shm.Sizeof[shm.Stats]() // the first one
	statsJoinPhases   = statsJoin + 36
)

// reported changes a report and sends it as a well-formed frame.
func reported(change func(r *shm.Report)) lie {
	return func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		r, err := backend.DecodeReport(f.Body())
		if err != nil {
			t.Error(err)
			return nil, false
		}
		if len(r.JoinList) != 1 || len(r.JoinList[0].PhaseList) < 2 {
			t.Errorf("%+v", r)
			return nil, false
		}
		change(r)
		f.Drop()
		return []*harness.Frame{harness.NewFrame(harness.MsgStats, shm.AppendReport(nil, r)[shm.FrameSize:])}, true
	}
}

// counted changes a number in a report.
func counted(at int, change func(n uint32) uint32) lie {
	return edit(func(f *harness.Frame) {
		b := f.Body()[at:]
		binary.LittleEndian.PutUint32(b, change(binary.LittleEndian.Uint32(b)))
	})
}

// Statistics are for EXPLAIN only: whatever they contain, the query is unharmed
// and only valid ones are shown.
func TestHostileStatistics(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	more := func(n uint32) uint32 { return n + 1 }
	less := func(n uint32) uint32 { return n - 1 }
	most := func(uint32) uint32 { return math.MaxUint32 }
	name := func(r *shm.Report) []byte { return r.JoinList[0].PhaseList[1].Name[:] }
	for what, c := range map[string]struct {
		lie   lie
		shown bool
	}{
		"joins":                      {counted(statsJoins, most), false},
		"a join more":                {counted(statsJoins, more), false},
		"no join":                    {counted(statsJoins, less), false},
		"participants":               {counted(statsParticipants, most), false},
		"a participant more":         {counted(statsParticipants, more), false},
		"phases":                     {counted(statsJoinPhases, most), false},
		"a phase more":               {counted(statsJoinPhases, more), false},
		"a phase less":               {counted(statsJoinPhases, less), false},
		"phases without end":         {counted(statsJoinPhases, func(uint32) uint32 { return 1 << 30 }), false},
		"more phases than there are": {reported(func(r *shm.Report) { r.JoinList[0].PhaseList = make([]shm.PhaseStats, shm.MaxPhases+1) }), false},
		"no end of provider":         {reported(func(r *shm.Report) { fill(r.Provider[:], 'x') }), false},
		"no end of strategy":         {reported(func(r *shm.Report) { fill(r.Strategy[:], 'x') }), false},
		"no end of its reason":       {reported(func(r *shm.Report) { fill(r.StrategyReason[:], 'x') }), false},
		"a strategy of no device":    {reported(func(r *shm.Report) { copy(r.Strategy[:], "exchange") }), true},
		"no end of algorithm":        {reported(func(r *shm.Report) { fill(r.JoinList[0].Algorithm[:], '%') }), false},
		"no end of a reason":         {reported(func(r *shm.Report) { fill(r.JoinList[0].Reason[:], 'x') }), false},
		"no end of a phase's name":   {reported(func(r *shm.Report) { fill(name(r), 'x') }), false},
		"a line feed in a name":      {reported(func(r *shm.Report) { copy(name(r), "match\nTime: 0") }), false},
		"an escape in a name":        {reported(func(r *shm.Report) { copy(name(r), "\x1b[31m") }), false},
		"no encoding in a name":      {reported(func(r *shm.Report) { copy(name(r), "\xff\xfe") }), false},
		"no encoding in a reason":    {reported(func(r *shm.Report) { copy(r.Fallback[:], "\xc3\x28") }), false},
		"no encoding in another one": {reported(func(r *shm.Report) { copy(r.JoinList[0].Reason[:], "\xc3\x28") }), false},
		"a format in a name":         {reported(func(r *shm.Report) { copy(name(r), "%s%n%s \"<&>\\") }), true},
		"another join":               {reported(func(r *shm.Report) { r.JoinList[0].Join = math.MaxUint32 }), false},
		"the same join twice":        {reported(func(r *shm.Report) { r.JoinList = append(r.JoinList, r.JoinList[0]) }), true},
		"no phases":                  {reported(func(r *shm.Report) { r.JoinList[0].PhaseList = nil }), true},
		"all ones": {reported(func(r *shm.Report) {
			r.JoinUS, r.PeakBytes, r.RowsIn = math.MaxUint64, math.MaxUint64, math.MaxUint64
			r.Devices, r.Hops, r.SentBytes = math.MaxUint32, math.MaxUint32, math.MaxUint64
			r.DeviceWaitUS, r.MeetingWaitUS, r.PredictedUS = math.MaxUint64, math.MaxUint64, math.MaxUint64
			copy(r.Strategy[:], "exchange")
			j := &r.JoinList[0]
			j.US, j.BuildLeft, j.Bits, j.ProbeRows = math.MaxUint64, math.MaxUint32, math.MaxUint32, math.MaxUint64
			for i := range j.PhaseList {
				j.PhaseList[i].PredictedNS, j.PhaseList[i].ActualNS = math.MaxUint64, math.MaxUint64
			}
		}), true},
		"cut": {edit(func(f *harness.Frame) { f.Bytes = f.Bytes[:len(f.Bytes)-8]; setLength(f, uint32(len(f.Body()))) }), false},
		"connection cut": {func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			f.Drop()
			return nil, false
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			for _, format := range []string{"text", "json", "xml", "yaml"} {
				w.tell(t, harness.MsgStats, 1, c.lie)
				ctx, cancel := bounded()
				r, err := v.Query(ctx, "explain (analyze, verbose, format "+format+") "+theSum)
				cancel()
				if err != nil {
					t.Errorf("%s: %v", format, err)
					continue
				}
				if shown := strings.Contains(strings.Join(r.Rows, "\n"), "Algorithm"); shown != c.shown {
					t.Errorf("%s: shown is %v:\n%s", format, shown, strings.Join(r.Rows, "\n"))
				}
			}
			w.Proxy.Rewrite(nil)
			v.recovers(t)
		})
	}
	w.unharmed(t, v.Session)
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
