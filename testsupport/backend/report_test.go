package backend

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gpujoin/shm"
)

// testReport has two joins, with two phases and one, and one participant.
func testReport() *shm.Report {
	r := &shm.Report{Stats: shm.Stats{QueueUS: 1, JoinUS: 2, RowsIn: 3, BytesIn: 4, RowsOut: 5, BytesOut: 6, PeakBytes: 7}}
	r.Devices, r.Hops, r.SentBytes, r.DeviceWaitUS, r.MeetingWaitUS, r.PredictedUS = 2, 1, 50, 51, 52, 53
	shm.PutText(r.Provider[:], "cuda")
	shm.PutText(r.Strategy[:], "exchange")
	shm.PutText(r.StrategyReason[:], "not divide: there is one device")
	phase := func(name string, predicted, actual uint64) shm.PhaseStats {
		p := shm.PhaseStats{PredictedNS: predicted, ActualNS: actual}
		shm.PutText(p.Name[:], name)
		return p
	}
	r.JoinList = []shm.JoinReport{
		{JoinStats: shm.JoinStats{Join: 0, Bits: 14, BuildRows: 8, ProbeRows: 9, RowsOut: 10, US: 11},
			PhaseList: []shm.PhaseStats{phase("partition build side", 18, 19), phase("match", 20, 21)}},
		{JoinStats: shm.JoinStats{Join: 1, BuildLeft: 1, BuildRows: 22, ProbeRows: 23, RowsOut: 24, US: 25},
			PhaseList: []shm.PhaseStats{phase("build", 0, 26)}},
	}
	shm.PutText(r.JoinList[0].Algorithm[:], "phj-om")
	shm.PutText(r.JoinList[1].Algorithm[:], "npj")
	shm.PutText(r.JoinList[1].Reason[:], "it has a further condition")
	r.AggregateList = []shm.AggregateStats{{RowsIn: 30, Groups: 31, Bytes: 32, US: 33}}
	shm.PutText(r.AggregateList[0].Strategy[:], "hash")
	r.FilterList = []shm.FilterStats{{Kind: uint32(shm.FilterBloom), Keys: 40, Bytes: 41, US: 42, Tested: 43, Dropped: 44}, {}}
	shm.PutText(r.FilterList[1].Reason[:], "no memory")
	r.ParticipantList = []shm.ParticipantStats{{Participant: -1, FedRows: 12, FedBytes: 13, FeedUS: 14, WaitUS: 15, ReturnedRows: 16, ReturnUS: 17}}
	return r
}

func TestReport(t *testing.T) {
	sent := testReport()
	got, err := DecodeReport(shm.AppendReport(nil, sent)[shm.FrameSize:])
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v was sent, %+v received", sent, got)
	}
}

// TestMalformedReports: numbers are checked against their bounds and the message's
// length; texts must be terminated and printable.
func TestMalformedReports(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *shm.Report)
		want   error
	}{
		"most phases": {func(r *shm.Report) { r.JoinList[0].PhaseList = make([]shm.PhaseStats, shm.MaxPhases) }, nil},
		"a phase too many": {func(r *shm.Report) {
			r.JoinList[0].PhaseList = make([]shm.PhaseStats, shm.MaxPhases+1)
		}, ErrReport},
		"most joins":             {func(r *shm.Report) { r.JoinList = make([]shm.JoinReport, shm.MaxInputs) }, nil},
		"a join too many":        {func(r *shm.Report) { r.JoinList = make([]shm.JoinReport, shm.MaxInputs+1) }, ErrReport},
		"most participants":      {func(r *shm.Report) { r.ParticipantList = make([]shm.ParticipantStats, shm.MaxParticipants) }, nil},
		"a participant too many": {func(r *shm.Report) { r.ParticipantList = make([]shm.ParticipantStats, shm.MaxParticipants+1) }, ErrReport},
		"most aggregates":        {func(r *shm.Report) { r.AggregateList = make([]shm.AggregateStats, shm.MaxInputs) }, nil},
		"an aggregate too many":  {func(r *shm.Report) { r.AggregateList = make([]shm.AggregateStats, shm.MaxInputs+1) }, ErrReport},
		"most filters":           {func(r *shm.Report) { r.FilterList = make([]shm.FilterStats, shm.MaxFilters) }, nil},
		"a filter too many":      {func(r *shm.Report) { r.FilterList = make([]shm.FilterStats, shm.MaxFilters+1) }, ErrReport},
		"an unknown filter":      {func(r *shm.Report) { r.FilterList[0].Kind = 4 }, ErrReport},
		"a filter of texts":      {func(r *shm.Report) { r.FilterList[0].Kind = uint32(shm.FilterBloomBytes) }, nil},
		"a tab in a reason":      {func(r *shm.Report) { r.FilterList[1].Reason[1] = '\t' }, ErrReport},
		"a tab in a strategy":    {func(r *shm.Report) { r.AggregateList[0].Strategy[1] = '\t' }, ErrReport},
		"no end of a name": {func(r *shm.Report) {
			copy(r.JoinList[0].PhaseList[1].Name[:], strings.Repeat("x", 32))
		}, ErrReport},
		"no end of a reason":           {func(r *shm.Report) { copy(r.JoinList[0].Reason[:], strings.Repeat("x", 96)) }, ErrReport},
		"a line feed in a name":        {func(r *shm.Report) { r.JoinList[0].PhaseList[1].Name[2] = '\n' }, ErrReport},
		"an escape in an algorithm":    {func(r *shm.Report) { r.JoinList[1].Algorithm[0] = 0x1b }, ErrReport},
		"no encoding in a reason":      {func(r *shm.Report) { r.Fallback[0] = 0xff }, ErrReport},
		"no end of a provider":         {func(r *shm.Report) { copy(r.Provider[:], strings.Repeat("x", 16)) }, ErrReport},
		"no end of devices' strategy":  {func(r *shm.Report) { copy(r.Strategy[:], strings.Repeat("x", 16)) }, ErrReport},
		"a tab in a strategy's reason": {func(r *shm.Report) { r.StrategyReason[3] = '\t' }, ErrReport},
		"bytes behind the end of one":  {func(r *shm.Report) { r.Provider[15] = 0xff }, nil},
	} {
		r := testReport()
		c.change(r)
		if _, err := DecodeReport(shm.AppendReport(nil, r)[shm.FrameSize:]); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	body := shm.AppendReport(nil, testReport())[shm.FrameSize:]
	for n := range body {
		if _, err := DecodeReport(body[:n:n]); !errors.Is(err, shm.ErrShort) {
			t.Errorf("%d of %d bytes: %v", n, len(body), err)
		}
	}
	if _, err := DecodeReport(append(body, 0)); !errors.Is(err, shm.ErrTrailing) {
		t.Errorf("a byte more: %v", err)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(shm.AppendReport(nil, testReport())[shm.FrameSize:])
	f.Add(shm.AppendReport(nil, &shm.Report{})[shm.FrameSize:])
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeReport(b[:len(b):len(b)])
		if err != nil {
			return
		}
		for _, j := range r.JoinList {
			if len(j.PhaseList) > shm.MaxPhases || !isText(j.Algorithm[:]) {
				t.Fatalf("%+v was accepted", j)
			}
		}
		if again := shm.AppendReport(nil, r)[shm.FrameSize:]; !bytes.Equal(again, b) {
			t.Fatal("a report changed on the way")
		}
	})
}
