package control

import (
	"encoding/json"
	"strings"
	"time"

	"gpujoin/joincore"
)

// Limits of what a peer may report. Longer lists and texts are cut.
const (
	maxName    = 64  // bytes of a name
	maxReason  = 256 // bytes of a reason
	maxPhases  = 64  // of a join
	maxDevices = 64  // that have executed a join or a plan
)

func encodeStats(s *joincore.Stats) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return nil // a number that JSON cannot express; the rows count
	}
	return text
}

// Statistics returns the statistics of a plan with the given numbers of joins and
// aggregates. It drops statistics of further ones. ok is false if there are none, or
// if they are malformed.
func (d *Done) Statistics(joins, aggregates int) (s joincore.Stats, ok bool) {
	if json.Unmarshal(d.GetStats(), &s) != nil {
		return joincore.Stats{}, false
	}
	s.Provider, s.Alone = clip(s.Provider, maxName), clip(s.Alone, maxReason)
	s.JoinTime, s.Waited = positive(s.JoinTime), positive(s.Waited)
	s.Devices, s.Sent, s.Hops = devices(s.Devices), max(s.Sent, 0), max(s.Hops, 0)
	s.Joins = s.Joins[:min(len(s.Joins), joins)]
	for i := range s.Joins {
		limitJoin(&s.Joins[i])
	}
	s.Aggregates = s.Aggregates[:min(len(s.Aggregates), aggregates)]
	for i := range s.Aggregates {
		a := &s.Aggregates[i]
		a.Strategy, a.Time = clip(a.Strategy, maxName), positive(a.Time)
	}
	return s, true
}

func limitJoin(j *joincore.JoinStats) {
	j.Algorithm, j.Reason = clip(j.Algorithm, maxName), clip(j.Reason, maxReason)
	j.Time, j.Devices = positive(j.Time), devices(j.Devices)
	j.Phases = j.Phases[:min(len(j.Phases), maxPhases)]
	for i := range j.Phases {
		p := &j.Phases[i]
		p.Name, p.Predicted, p.Actual = clip(p.Name, maxName), positive(p.Predicted), positive(p.Actual)
	}
}

func devices(n int) int { return min(max(n, 0), maxDevices) }

// positive returns a peer's time; negative times become 0.
func positive(d time.Duration) time.Duration { return max(d, 0) }

func clip(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "?")
}
