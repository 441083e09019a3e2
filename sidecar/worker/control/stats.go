package control

import (
	"strings"
	"time"

	"gpujoin/joincore"
)

// maxName is the length to which names from a peer are truncated.
const maxName = 64

// maxReason is the length to which reasons from a peer are truncated.
const maxReason = 256

// maxPhases is the maximum number of phases that a peer may report for a join.
const maxPhases = 64

// EncodeStats translates statistics.
func EncodeStats(s *joincore.Stats) *Stats {
	out := &Stats{
		Provider: s.Provider, JoinNs: s.JoinTime.Nanoseconds(),
		RowsOut: s.RowsOut, BytesOut: s.BytesOut, Peak: s.Peak,
		Devices: int32(s.Devices), Alone: s.Alone, Sent: s.Sent, Hops: int32(s.Hops), WaitedNs: s.Waited.Nanoseconds(),
	}
	for i := range s.Joins {
		out.Joins = append(out.Joins, encodeJoinStats(&s.Joins[i]))
	}
	for _, a := range s.Aggregates {
		out.Aggregates = append(out.Aggregates, &AggregateStats{
			Strategy: a.Strategy, RowsIn: a.RowsIn, Groups: a.Groups, Ns: a.Time.Nanoseconds(), Bytes: a.Bytes,
		})
	}
	return out
}

func encodeJoinStats(j *joincore.JoinStats) *JoinStats {
	out := &JoinStats{
		Algorithm: j.Algorithm, Reason: j.Reason, BuildLeft: j.BuildLeft, Bits: int32(j.Bits), BuildRows: j.BuildRows,
		ProbeRows: j.ProbeRows, RowsOut: j.RowsOut, Ns: j.Time.Nanoseconds(),
		Devices: int32(j.Devices),
		Work: &DeviceWork{
			Launches: int64(j.Work.Launches), Syncs: int64(j.Work.Syncs), Bytes: j.Work.Bytes, Peak: j.Work.Peak,
		},
	}
	for _, p := range j.Phases {
		out.Phases = append(out.Phases, &Phase{
			Name: p.Name, PredictedNs: p.Predicted.Nanoseconds(), ActualNs: p.Actual.Nanoseconds(),
		})
	}
	return out
}

// Decode returns the statistics of a plan with the given numbers of joins and
// aggregates. It drops statistics of further ones.
func (s *Stats) Decode(joins, aggregates int) joincore.Stats {
	out := joincore.Stats{
		Provider: clip(s.GetProvider()), JoinTime: duration(s.GetJoinNs()),
		RowsOut: s.GetRowsOut(), BytesOut: s.GetBytesOut(), Peak: s.GetPeak(),
		Devices: devices(s.GetDevices()), Alone: clipTo(s.GetAlone(), maxReason),
		Sent: max(s.GetSent(), 0), Hops: max(int(s.GetHops()), 0), Waited: duration(s.GetWaitedNs()),
	}
	for i, j := range s.GetJoins() {
		if i == joins {
			break
		}
		out.Joins = append(out.Joins, j.decode())
	}
	for i, a := range s.GetAggregates() {
		if i == aggregates {
			break
		}
		out.Aggregates = append(out.Aggregates, joincore.AggregateStats{
			Strategy: clip(a.GetStrategy()), RowsIn: a.GetRowsIn(), Groups: a.GetGroups(),
			Time: duration(a.GetNs()), Bytes: a.GetBytes(),
		})
	}
	return out
}

func (j *JoinStats) decode() joincore.JoinStats {
	work := j.GetWork()
	out := joincore.JoinStats{
		Algorithm: clip(j.GetAlgorithm()), Reason: clipTo(j.GetReason(), maxReason), BuildLeft: j.GetBuildLeft(), Bits: int(j.GetBits()),
		BuildRows: j.GetBuildRows(), ProbeRows: j.GetProbeRows(), RowsOut: j.GetRowsOut(),
		Time: duration(j.GetNs()), Devices: devices(j.GetDevices()),
		Work: joincore.DeviceWork{
			Launches: int(work.GetLaunches()), Syncs: int(work.GetSyncs()), Bytes: work.GetBytes(), Peak: work.GetPeak(),
		},
	}
	for i, p := range j.GetPhases() {
		if i == maxPhases {
			break
		}
		out.Phases = append(out.Phases, joincore.Phase{
			Name: clip(p.GetName()), Predicted: duration(p.GetPredictedNs()), Actual: duration(p.GetActualNs()),
		})
	}
	return out
}

// maxDevices is the maximum number of devices that a peer may report for a join.
const maxDevices = 64

func devices(n int32) int { return min(max(int(n), 0), maxDevices) }

// duration converts a peer's time in ns; negative times become 0.
func duration(ns int64) time.Duration { return time.Duration(max(ns, 0)) }

func clip(s string) string { return clipTo(s, maxName) }

func clipTo(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "?")
}
