package plan

import (
	"errors"

	"gpujoin/joincore"
)

// Limits of a job. They bound the work that decoding hostile bytes can cost.
const (
	MaxBytes      = 1 << 20
	MaxDepth      = 64
	MaxInputs     = 64
	MaxColumns    = 1664
	MaxParameters = 1024
)

var (
	// ErrMalformed: the bytes are not a job as docs/job.md describes it.
	ErrMalformed = errors.New("malformed job")
	// ErrVersion: a job of another version of the format.
	ErrVersion = errors.New("unknown job version")
)

// Job is one decoded job: the plan and what the daemon reports about it.
type Job struct {
	Plan       *joincore.Plan
	Inputs     []Input // parallel to Plan.Inputs
	Generation uint32
	Snapshot   string
	LSN        string
}

// Input is what the backend says of a base input beyond its physical columns.
type Input struct {
	Database uint32
	Relation uint32
	Name     string
	Feed     string // "page" or "child"
	RowBytes float64
	Columns  []Column
}

// Column is PostgreSQL's description of a column that is carried.
type Column struct {
	Attnum    int16
	Type      uint32
	Typmod    int32
	Collation uint32
	KeyOnly   bool // a canonical form that is compared and never returned
}
