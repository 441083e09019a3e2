package backend

import (
	"bytes"
	"errors"
	"fmt"

	"gpujoin/shm"
)

// ErrReport: malformed statistics.
var ErrReport = errors.New("malformed statistics")

// DecodeReport decodes the body of a STATS message. It accepts what the extension's own
// reader accepts. Errors: shm.ErrShort, shm.ErrTrailing, ErrReport.
func DecodeReport(body []byte) (*shm.Report, error) {
	s, rest, err := shm.DecodePrefix[shm.Stats](body)
	if err != nil {
		return nil, err
	}
	if s.Joins > shm.MaxInputs || s.Aggregates > shm.MaxInputs || s.Filters > shm.MaxFilters || s.Participants > shm.MaxParticipants {
		return nil, fmt.Errorf("%w: %d joins, %d aggregates, %d filters, %d participants", ErrReport, s.Joins, s.Aggregates, s.Filters, s.Participants)
	}
	if !isText(s.Provider[:]) || !isText(s.Fallback[:]) || !isText(s.Strategy[:]) || !isText(s.StrategyReason[:]) || !isText(s.Alone[:]) {
		return nil, fmt.Errorf("%w: text of a provider", ErrReport)
	}
	r := &shm.Report{Stats: s}
	joins, rest, err := decodeAll[shm.JoinStats](rest, s.Joins)
	if err != nil {
		return nil, err
	}
	for _, j := range joins {
		if j.Phases > shm.MaxPhases || !isText(j.Algorithm[:]) || !isText(j.Reason[:]) {
			return nil, fmt.Errorf("%w: join %d", ErrReport, j.Join)
		}
		var phases []shm.PhaseStats
		if phases, rest, err = decodeAll[shm.PhaseStats](rest, j.Phases); err != nil {
			return nil, err
		}
		for _, p := range phases {
			if !isText(p.Name[:]) {
				return nil, fmt.Errorf("%w: name of a phase", ErrReport)
			}
		}
		r.JoinList = append(r.JoinList, shm.JoinReport{JoinStats: j, PhaseList: phases})
	}
	if r.AggregateList, rest, err = decodeAll[shm.AggregateStats](rest, s.Aggregates); err != nil {
		return nil, err
	}
	for i := range r.AggregateList {
		if !isText(r.AggregateList[i].Strategy[:]) {
			return nil, fmt.Errorf("%w: strategy of aggregate %d", ErrReport, i)
		}
	}
	if r.FilterList, rest, err = decodeAll[shm.FilterStats](rest, s.Filters); err != nil {
		return nil, err
	}
	for i := range r.FilterList {
		if f := &r.FilterList[i]; f.Kind > uint32(shm.FilterBloomBytes) || !isText(f.Reason[:]) {
			return nil, fmt.Errorf("%w: filter %d", ErrReport, i)
		}
	}
	if r.ParticipantList, rest, err = decodeAll[shm.ParticipantStats](rest, s.Participants); err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d", shm.ErrTrailing, len(rest))
	}
	return r, nil
}

// decodeAll decodes n structures from the start of b and returns the rest.
func decodeAll[T shm.Struct](b []byte, n uint32) (list []T, rest []byte, err error) {
	for range n {
		var v T
		if v, b, err = shm.DecodePrefix[T](b); err != nil {
			return nil, nil, err
		}
		list = append(list, v)
	}
	return list, b, nil
}

// isText reports whether b has the form that shm.PutText produces, whatever follows the NUL.
func isText(b []byte) bool {
	end := bytes.IndexByte(b, 0)
	return end >= 0 && bytes.IndexFunc(b[:end], func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
