package shm

import (
	"errors"
	"fmt"
)

// ErrReport: malformed statistics.
var ErrReport = errors.New("malformed statistics")

// Report is a complete STATS message.
type Report struct {
	Stats
	JoinList        []JoinReport
	AggregateList   []AggregateStats // at most MaxInputs
	FilterList      []FilterStats    // at most MaxFilters
	ParticipantList []ParticipantStats
}

// JoinReport is the part of a report about one join.
type JoinReport struct {
	JoinStats
	PhaseList []PhaseStats // at most MaxPhases
}

// AppendReport appends a STATS message. It sets the counts of the structures that
// follow.
func AppendReport(dst []byte, r *Report) []byte {
	start := len(dst)
	r.Joins, r.Aggregates = uint32(len(r.JoinList)), uint32(len(r.AggregateList))
	r.Filters, r.Participants = uint32(len(r.FilterList)), uint32(len(r.ParticipantList))
	dst = Append(BeginFrame(dst, MsgStats, 0), &r.Stats)
	for i := range r.JoinList {
		j := &r.JoinList[i]
		j.Phases = uint32(len(j.PhaseList))
		dst = Append(dst, &j.JoinStats)
	}
	for _, j := range r.JoinList {
		dst = appendAll(dst, j.PhaseList)
	}
	dst = appendAll(dst, r.AggregateList)
	dst = appendAll(dst, r.FilterList)
	dst = appendAll(dst, r.ParticipantList)
	FinishFrame(dst, start)
	return dst
}

func appendAll[T Struct](dst []byte, list []T) []byte {
	for i := range list {
		dst = Append(dst, &list[i])
	}
	return dst
}

// DecodeReport decodes the body of a STATS message. It accepts what the extension's own
// reader accepts. Errors: ErrShort, ErrTrailing, ErrReport.
func DecodeReport(body []byte) (*Report, error) {
	s, rest, err := DecodePrefix[Stats](body)
	if err != nil {
		return nil, err
	}
	if s.Joins > MaxInputs || s.Aggregates > MaxInputs || s.Filters > MaxFilters || s.Participants > MaxParticipants {
		return nil, fmt.Errorf("%w: %d joins, %d aggregates, %d filters, %d participants", ErrReport, s.Joins, s.Aggregates, s.Filters, s.Participants)
	}
	if !IsText(s.Provider[:]) || !IsText(s.Fallback[:]) || !IsText(s.Alone[:]) {
		return nil, fmt.Errorf("%w: text of a provider", ErrReport)
	}
	r := &Report{Stats: s}
	joins, rest, err := decodeAll[JoinStats](rest, s.Joins)
	if err != nil {
		return nil, err
	}
	for _, j := range joins {
		if j.Phases > MaxPhases || !IsText(j.Algorithm[:]) || !IsText(j.Reason[:]) {
			return nil, fmt.Errorf("%w: join %d", ErrReport, j.Join)
		}
		var phases []PhaseStats
		if phases, rest, err = decodeAll[PhaseStats](rest, j.Phases); err != nil {
			return nil, err
		}
		for _, p := range phases {
			if !IsText(p.Name[:]) {
				return nil, fmt.Errorf("%w: name of a phase", ErrReport)
			}
		}
		r.JoinList = append(r.JoinList, JoinReport{j, phases})
	}
	if r.AggregateList, rest, err = decodeAll[AggregateStats](rest, s.Aggregates); err != nil {
		return nil, err
	}
	for i := range r.AggregateList {
		if !IsText(r.AggregateList[i].Strategy[:]) {
			return nil, fmt.Errorf("%w: strategy of aggregate %d", ErrReport, i)
		}
	}
	if r.FilterList, rest, err = decodeAll[FilterStats](rest, s.Filters); err != nil {
		return nil, err
	}
	for i := range r.FilterList {
		if f := &r.FilterList[i]; f.Kind > uint32(FilterBloomBytes) || !IsText(f.Reason[:]) {
			return nil, fmt.Errorf("%w: filter %d", ErrReport, i)
		}
	}
	if r.ParticipantList, rest, err = decodeAll[ParticipantStats](rest, s.Participants); err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d", ErrTrailing, len(rest))
	}
	return r, nil
}

// decodeAll decodes n structures from the start of b and returns the rest.
func decodeAll[T Struct](b []byte, n uint32) (list []T, rest []byte, err error) {
	for range n {
		var v T
		if v, b, err = DecodePrefix[T](b); err != nil {
			return nil, nil, err
		}
		list = append(list, v)
	}
	return list, b, nil
}
