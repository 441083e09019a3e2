package shm

import "fmt"

// Stats is gj_stats; Joins JoinStats and Participants ParticipantStats follow.
type Stats struct {
	QueueUS      uint64    `c:"queue_us"`
	JoinUS       uint64    `c:"join_us"` // without waits for credits
	RowsIn       uint64    `c:"rows_in"`
	BytesIn      uint64    `c:"bytes_in"`
	RowsOut      uint64    `c:"rows_out"`
	BytesOut     uint64    `c:"bytes_out"`
	PeakBytes    uint64    `c:"peak_bytes"` // memory of the job, extents included
	Joins        uint32    `c:"joins"`
	Participants uint32    `c:"participants"`
	Provider     [16]byte  `c:"provider"`
	Fallback     [160]byte `c:"fallback"` // why it was not a preferred one
}

// JoinStats is gj_join_stats, one join of the job's tree.
type JoinStats struct {
	Algorithm [24]byte `c:"algorithm"`
	Join      uint32   `c:"join"`       // position in post-order
	BuildLeft uint32   `c:"build_left"` // 1: the left side was built
	BuildRows uint64   `c:"build_rows"`
	ProbeRows uint64   `c:"probe_rows"`
	RowsOut   uint64   `c:"rows_out"`
	US        uint64   `c:"us"`
}

// ParticipantStats is gj_participant_stats, one process that worked on a job.
type ParticipantStats struct {
	Participant  int32  `c:"participant"`
	Reserved     uint32 `c:"reserved"`
	FedRows      uint64 `c:"fed_rows"`
	FedBytes     uint64 `c:"fed_bytes"`
	FeedUS       uint64 `c:"feed_us"`
	WaitUS       uint64 `c:"wait_us"`
	ReturnedRows uint64 `c:"returned_rows"`
	ReturnUS     uint64 `c:"return_us"`
}

// Report is a whole STATS message.
type Report struct {
	Stats
	JoinList        []JoinStats
	ParticipantList []ParticipantStats
}

// AppendReport appends a whole STATS message.
func AppendReport(dst []byte, r *Report) []byte {
	start := len(dst)
	r.Joins, r.Participants = uint32(len(r.JoinList)), uint32(len(r.ParticipantList))
	dst = Append(BeginFrame(dst, MsgStats, 0), &r.Stats)
	for i := range r.JoinList {
		dst = Append(dst, &r.JoinList[i])
	}
	for i := range r.ParticipantList {
		dst = Append(dst, &r.ParticipantList[i])
	}
	FinishFrame(dst, start)
	return dst
}

// DecodeReport decodes the body of a STATS message.
func DecodeReport(body []byte) (*Report, error) {
	s, rest, err := DecodePrefix[Stats](body)
	if err != nil {
		return nil, err
	}
	nj, np := int64(s.Joins), int64(s.Participants)
	if want := nj*int64(Sizeof[JoinStats]()) + np*int64(Sizeof[ParticipantStats]()); want != int64(len(rest)) {
		return nil, fmt.Errorf("%w: %d joins and %d participants in %d bytes", ErrShort, nj, np, len(rest))
	}
	r := &Report{Stats: s}
	for range nj {
		var j JoinStats
		if j, rest, err = DecodePrefix[JoinStats](rest); err != nil {
			return nil, err
		}
		r.JoinList = append(r.JoinList, j)
	}
	for range np {
		var p ParticipantStats
		if p, rest, err = DecodePrefix[ParticipantStats](rest); err != nil {
			return nil, err
		}
		r.ParticipantList = append(r.ParticipantList, p)
	}
	return r, nil
}
