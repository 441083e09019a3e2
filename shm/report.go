package shm

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

// Stats is gj_stats; the statistics of joins, phases, aggregates and
// participants follow.
type Stats struct {
	QueueUS      uint64    `c:"queue_us"`
	JoinUS       uint64    `c:"join_us"` // without waiting for credits
	RowsIn       uint64    `c:"rows_in"`
	BytesIn      uint64    `c:"bytes_in"`
	RowsOut      uint64    `c:"rows_out"`
	BytesOut     uint64    `c:"bytes_out"`
	PeakBytes    uint64    `c:"peak_bytes"` // memory of the job, extents included
	Joins        uint32    `c:"joins"`
	Participants uint32    `c:"participants"`
	Provider     [16]byte  `c:"provider"`
	Fallback     [160]byte `c:"fallback"` // why no preferred provider executed it
	Aggregates   uint32    `c:"aggregates"`
	Filters      uint32    `c:"filters"`
	Devices      uint32    `c:"devices"` // that executed the job together; 0: one
	Hops         uint32    `c:"hops"`    // links that each byte of SentBytes crossed
	SentBytes    uint64    `c:"sent_bytes"`
	DeviceWaitUS uint64    `c:"device_wait_us"` // the first device to finish waited for the last
	// the first device at the join where they exchanged rows waited for the last
	MeetingWaitUS  uint64    `c:"meeting_wait_us"`
	PredictedUS    uint64    `c:"predicted_us"`    // of JoinUS, for the strategy; 0: not predicted
	Strategy       [16]byte  `c:"strategy"`        // of the devices; empty: cores executed the job
	StrategyReason [128]byte `c:"strategy_reason"` // why it is not the one that the daemon's setting demands
	Alone          [96]byte  `c:"alone"`           // why one device executed a job for several
}

// JoinStats is gj_join_stats, one join of the job's tree.
type JoinStats struct {
	Algorithm [24]byte `c:"algorithm"`
	Join      uint32   `c:"join"`       // position in post-order
	BuildLeft uint32   `c:"build_left"` // 1: the left side was the build side
	Bits      uint32   `c:"bits"`       // radix bits of partitions; 0: not partitioned
	Phases    uint32   `c:"phases"`
	BuildRows uint64   `c:"build_rows"`
	ProbeRows uint64   `c:"probe_rows"`
	RowsOut   uint64   `c:"rows_out"`
	US        uint64   `c:"us"`
	Reason    [96]byte `c:"reason"` // why it is not the job's algorithm; empty: it is, or the job names none
}

// PhaseStats is gj_phase_stats, a part of a join.
type PhaseStats struct {
	Name        [32]byte `c:"name"`
	PredictedNS uint64   `c:"predicted_ns"` // 0: not predicted
	ActualNS    uint64   `c:"actual_ns"`
}

// AggregateStats is gj_aggregate_stats, one aggregate of the job's tree, in
// post-order.
type AggregateStats struct {
	Strategy [24]byte `c:"strategy"`
	RowsIn   uint64   `c:"rows_in"`
	Groups   uint64   `c:"groups"`
	Bytes    uint64   `c:"bytes"` // memory for groups and rows, at the highest
	US       uint64   `c:"us"`
}

// FilterStats is gj_filter_stats, one filter, in the order of the job's
// filters.
type FilterStats struct {
	Kind     uint32   `c:"kind"` // a FilterKind
	Reserved uint32   `c:"reserved"`
	Keys     uint64   `c:"keys"`
	Bytes    uint64   `c:"bytes"`
	US       uint64   `c:"us"`      // to make it
	Tested   uint64   `c:"tested"`  // rows of the target
	Dropped  uint64   `c:"dropped"` // part of Tested: not fed
	Reason   [64]byte `c:"reason"`  // why there is no filter
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
