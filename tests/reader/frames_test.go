package reader

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// frameSeeds returns streams of frames, each preceded by the number of
// descriptors that arrive with its first frame.
func frameSeeds() [][]byte {
	report := &shm.Report{Stats: shm.Stats{QueueUS: 1, JoinUS: 2, RowsIn: 3}}
	shm.PutText(report.Provider[:], "cuda")
	shm.PutText(report.Fallback[:], strings.Repeat("a reason ", 20))
	for join := range 3 {
		r := shm.JoinReport{JoinStats: shm.JoinStats{Join: uint32(join), US: 5}}
		shm.PutText(r.Algorithm[:], "phj-om")
		shm.PutText(r.Reason[:], strings.Repeat("a reason ", join))
		for _, name := range []string{"histogram", "partition build side", "a name of just thirty-one bytes"} {
			p := shm.PhaseStats{PredictedNS: 6, ActualNS: 7}
			shm.PutText(p.Name[:], name)
			r.PhaseList = append(r.PhaseList, p)
		}
		report.JoinList = append(report.JoinList, r)
		a := shm.AggregateStats{US: 8}
		shm.PutText(a.Strategy[:], "a text of twenty-three.")
		report.AggregateList = append(report.AggregateList, a)
		f := shm.FilterStats{Kind: uint32(join), US: 9}
		shm.PutText(f.Reason[:], "a reason of sixty-three characters, which is all the space it has")
		report.FilterList = append(report.FilterList, f)
		report.ParticipantList = append(report.ParticipantList, shm.ParticipantStats{Participant: int32(join) - 1})
	}
	stats := shm.AppendReport(nil, report)
	tooMany := []*shm.Report{
		{JoinList: make([]shm.JoinReport, shm.MaxInputs+1)},
		{JoinList: []shm.JoinReport{{PhaseList: make([]shm.PhaseStats, shm.MaxPhases+1)}}},
		{AggregateList: make([]shm.AggregateStats, shm.MaxInputs+1)},
		{FilterList: make([]shm.FilterStats, shm.MaxFilters+1)},
		{ParticipantList: make([]shm.ParticipantStats, shm.MaxParticipants+1)},
	}
	end := shm.AppendEmpty(nil, shm.MsgEnd)
	grant := shm.AppendFrame(nil, shm.MsgGrant, 16, &shm.Grant{Count: 16})
	failed := shm.AppendFailed(nil, shm.FailBusy, "", "later \xff\x1b\x00 or never")
	welcome := shm.AppendFrame(nil, shm.MsgWelcome, 0, &shm.Welcome{ProtocolVersion: shm.ProtocolVersion})
	stream := func(fds byte, frames ...[]byte) []byte {
		return append([]byte{fds}, bytes.Join(frames, nil)...)
	}
	seeds := [][]byte{
		stream(0, stats), stream(0, stats, stats, end), stream(0, shm.AppendReport(nil, &shm.Report{})),
		stream(16, grant, stats), stream(17, grant), stream(0, welcome, end, failed), stream(0, failed), stream(0),
	}
	for _, r := range tooMany {
		seeds = append(seeds, stream(0, shm.AppendReport(nil, r)))
	}
	return seeds
}

// understood returns how a reader interprets a stream: the number of frames
// before the first malformed one or a FAILED, and the number of valid
// statistics among them.
func understood(input []byte) (frames, believed uint64) {
	if len(input) < 2 {
		return 0, 0
	}
	fds, b := int(input[0])%64, input[1:]
	for ; len(b) >= shm.FrameSize; fds = 0 {
		f, _, err := shm.DecodePrefix[shm.Frame](b)
		if err != nil || f.Magic != shm.FrameMagic || f.Reserved != 0 || f.Length > shm.FrameMax ||
			fds > shm.FrameMaxFDs || int(f.NFDs) != fds || int64(f.Length) > int64(len(b)-shm.FrameSize) || f.Type == shm.MsgFailed {
			return frames, believed
		}
		body := b[shm.FrameSize : shm.FrameSize+int(f.Length)]
		b = b[shm.FrameSize+int(f.Length):]
		frames++
		if f.Type == shm.MsgStats {
			if _, err := backend.DecodeReport(body); err == nil {
				believed++
			}
		}
	}
	return frames, believed
}

// TestFrames: daemon/frame.c and daemon/stats.c accept the same part of
// any stream as Go's readers.
func TestFrames(t *testing.T) {
	r := random(t)
	seeds := frameSeeds()
	inputs := seeds
	for len(inputs) < *rounds {
		input := mutate(r, seeds[r.IntN(len(seeds))])
		if len(input) > 1 && r.IntN(8) > 0 {
			// The frame's length is right in most cases.
			if n := len(input) - 1 - shm.FrameSize; n >= 0 && r.IntN(2) == 0 {
				binary.LittleEndian.PutUint32(input[5:], uint32(n))
			}
		}
		inputs = append(inputs, input)
	}
	var received, accepted int
	build(t, "frames", "daemon/connection.c", "daemon/wait.c", "daemon/frame.c", "daemon/stats.c").try(t, inputs, func(input []byte, result uint64) {
		frames, believed := understood(input)
		if result != frames|believed<<32 {
			t.Errorf("%d frames received, %d reports believed; should be %d and %d\n%s",
				uint32(result), result>>32, frames, believed, describe(input))
		}
		received += int(frames)
		accepted += int(believed)
	})
	if received < len(inputs)/10 || accepted < len(inputs)/50 {
		t.Errorf("only %d frames and %d reports of %d inputs were read", received, accepted, len(inputs))
	}
}
