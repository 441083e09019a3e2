package shm

// Open is gj_open; the job as JSON follows it.
type Open struct {
	QueueTimeoutMS uint32 `c:"queue_timeout_ms"` // 0: refuse instead of queueing
	Flags          uint32 `c:"flags"`            // OpenRewind
	Participants   uint32 `c:"participants"`     // planned, leader included
	JSONLength     uint32 `c:"json_length"`
	Participant    int32  `c:"participant"` // ParallelWorkerNumber; leader is -1
	Role           uint32 `c:"role"`        // OID of the session's user
	RoleShare      uint32 `c:"role_share"`  // of the memory budget: 0 to WholeShare
	Reserved       uint32 `c:"reserved"`
}

// Attach is gj_attach: a process becomes a participant of a job that another
// one opened.
type Attach struct {
	Job         uint64          `c:"job"`
	Token       [TokenSize]byte `c:"token"`
	Participant int32           `c:"participant"` // ParallelWorkerNumber; leader is -1
	Reserved    uint32          `c:"reserved"`
}

// Admitted is gj_admitted, the answer to Open and Attach.
type Admitted struct {
	Job           uint64          `c:"job"`
	Token         [TokenSize]byte `c:"token"`
	ReservedBytes uint64          `c:"reserved_bytes"`
	QueueUS       uint64          `c:"queue_us"`
}
