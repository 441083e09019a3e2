package shm

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// testReport has two joins, with two phases and one, and one participant.
func testReport() *Report {
	r := &Report{Stats: Stats{QueueUS: 1, JoinUS: 2, RowsIn: 3, BytesIn: 4, RowsOut: 5, BytesOut: 6, PeakBytes: 7}}
	PutText(r.Provider[:], "cuda")
	phase := func(name string, predicted, actual uint64) PhaseStats {
		p := PhaseStats{PredictedNS: predicted, ActualNS: actual}
		PutText(p.Name[:], name)
		return p
	}
	r.JoinList = []JoinReport{
		{JoinStats{Join: 0, Bits: 14, BuildRows: 8, ProbeRows: 9, RowsOut: 10, US: 11},
			[]PhaseStats{phase("partition build side", 18, 19), phase("match", 20, 21)}},
		{JoinStats{Join: 1, BuildLeft: 1, BuildRows: 22, ProbeRows: 23, RowsOut: 24, US: 25},
			[]PhaseStats{phase("build", 0, 26)}},
	}
	PutText(r.JoinList[0].Algorithm[:], "phj-om")
	PutText(r.JoinList[1].Algorithm[:], "npj")
	PutText(r.JoinList[1].Reason[:], "it has a further condition")
	r.AggregateList = []AggregateStats{{RowsIn: 30, Groups: 31, Bytes: 32, US: 33}}
	PutText(r.AggregateList[0].Strategy[:], "hash")
	r.FilterList = []FilterStats{{Kind: uint32(FilterBloom), Keys: 40, Bytes: 41, US: 42, Tested: 43, Dropped: 44}, {}}
	PutText(r.FilterList[1].Reason[:], "no memory")
	r.ParticipantList = []ParticipantStats{{Participant: -1, FedRows: 12, FedBytes: 13, FeedUS: 14, WaitUS: 15, ReturnedRows: 16, ReturnUS: 17}}
	return r
}

func TestReport(t *testing.T) {
	sent := testReport()
	got, err := DecodeReport(AppendReport(nil, sent)[FrameSize:])
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
		change func(r *Report)
		want   error
	}{
		"most phases": {func(r *Report) { r.JoinList[0].PhaseList = make([]PhaseStats, MaxPhases) }, nil},
		"a phase too many": {func(r *Report) {
			r.JoinList[0].PhaseList = make([]PhaseStats, MaxPhases+1)
		}, ErrReport},
		"most joins":             {func(r *Report) { r.JoinList = make([]JoinReport, MaxInputs) }, nil},
		"a join too many":        {func(r *Report) { r.JoinList = make([]JoinReport, MaxInputs+1) }, ErrReport},
		"most participants":      {func(r *Report) { r.ParticipantList = make([]ParticipantStats, MaxParticipants) }, nil},
		"a participant too many": {func(r *Report) { r.ParticipantList = make([]ParticipantStats, MaxParticipants+1) }, ErrReport},
		"most aggregates":        {func(r *Report) { r.AggregateList = make([]AggregateStats, MaxInputs) }, nil},
		"an aggregate too many":  {func(r *Report) { r.AggregateList = make([]AggregateStats, MaxInputs+1) }, ErrReport},
		"most filters":           {func(r *Report) { r.FilterList = make([]FilterStats, MaxFilters) }, nil},
		"a filter too many":      {func(r *Report) { r.FilterList = make([]FilterStats, MaxFilters+1) }, ErrReport},
		"an unknown filter":      {func(r *Report) { r.FilterList[0].Kind = 4 }, ErrReport},
		"a filter of texts":      {func(r *Report) { r.FilterList[0].Kind = uint32(FilterBloomBytes) }, nil},
		"a tab in a reason":      {func(r *Report) { r.FilterList[1].Reason[1] = '\t' }, ErrReport},
		"a tab in a strategy":    {func(r *Report) { r.AggregateList[0].Strategy[1] = '\t' }, ErrReport},
		"no end of a name": {func(r *Report) {
			copy(r.JoinList[0].PhaseList[1].Name[:], strings.Repeat("x", 32))
		}, ErrReport},
		"no end of a reason":          {func(r *Report) { copy(r.JoinList[0].Reason[:], strings.Repeat("x", 96)) }, ErrReport},
		"a line feed in a name":       {func(r *Report) { r.JoinList[0].PhaseList[1].Name[2] = '\n' }, ErrReport},
		"an escape in an algorithm":   {func(r *Report) { r.JoinList[1].Algorithm[0] = 0x1b }, ErrReport},
		"no encoding in a reason":     {func(r *Report) { r.Fallback[0] = 0xff }, ErrReport},
		"no end of a provider":        {func(r *Report) { copy(r.Provider[:], strings.Repeat("x", 16)) }, ErrReport},
		"bytes behind the end of one": {func(r *Report) { r.Provider[15] = 0xff }, nil},
	} {
		r := testReport()
		c.change(r)
		if _, err := DecodeReport(AppendReport(nil, r)[FrameSize:]); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	body := AppendReport(nil, testReport())[FrameSize:]
	for n := range body {
		if _, err := DecodeReport(body[:n:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d of %d bytes: %v", n, len(body), err)
		}
	}
	if _, err := DecodeReport(append(body, 0)); !errors.Is(err, ErrTrailing) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestPutText: the text is always printable.
func TestPutText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "cuda": "cuda", "1234567": "1234567", "12345678": "1234567",
		"nö": "n?", "ööööööööö": "???????", "a\x00b\x1b": "a?b?", "\xff~ ": "?~ ",
	} {
		b := []byte("????????")
		PutText(b, text)
		if got := Text(b); got != want || !IsText(b) {
			t.Errorf("%q became %q", text, got)
		}
	}
}
