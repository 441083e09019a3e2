// Package planjson decodes and checks jobs. It turns the JSON of docs/internals/job.md into a
// joincore.Checked. It is the only decoder of that format and does not trust its input:
// errors name the member in which something is not as it must be.
package planjson

import (
	"errors"

	"gpujoin/joincore"
)

// Version is the version of the format that this package reads.
const Version = 3

// Limits of a job. They bound the work of decoding hostile input.
const (
	MaxBytes      = 1 << 20
	MaxDepth      = 256
	MaxObjects    = 1 << 16
	MaxInputs     = 64
	MaxColumns    = 1664
	MaxParameters = 1024
	MaxFilters    = 64
)

var (
	// ErrMalformed reports input that is not a job as defined in docs/internals/job.md.
	ErrMalformed = errors.New("malformed job")
	// ErrVersion reports a job in another version of the format.
	ErrVersion = errors.New("unknown job version")
)

// Job is a decoded job: the plan and the attributes that the daemon reports. Plan is the one
// whose inputs are all fed, but for mirrored ones: see PlanFor.
type Job struct {
	Plan       *joincore.Checked
	Text       []byte  // the JSON that was decoded, which the Job owns
	Inputs     []Input // parallel to Plan.Inputs
	Filters    []Filter
	Generation uint32
	Snapshot   string
	LSN        string
	Sample     *Sample // nil: all rows of mirrored inputs

	plan       *joincore.Plan        // until it is complete and checked
	kept       []keptForm            // parallel to Inputs
	texts      map[int][]byte        // parameters of the plan that are texts
	aggregates []*joincore.Aggregate // by number, behind those of inputs
}

// Filter lets feeds drop rows of the target that are NULL there, or whose key
// is not in the source.
type Filter struct {
	Source joincore.ColumnRef // of an input that is fed before
	Target joincore.ColumnRef
}

// Input describes a base input in addition to its physical columns.
type Input struct {
	Database uint32
	Relation uint32
	Name     string
	Feed     string   // "page", "child" or "mirror"
	RowBytes float64  // of the columns that are fed
	Columns  []Column // the fed ones, then the hidden ones
	Kept     bool     // its columns may be kept: PlanFor
	Hidden   int      // number of columns at the end that only its condition reads
	Mirror   *Mirror  // of the feed "mirror": nobody feeds it; else nil
}

// Mirror says which columns of a foreign server's table an input has.
type Mirror struct {
	Schema, Table string
	Columns       []string // the source's names, one for each column of the input
	Text          []bool   // of each: it is wanted as text
	Token         string   // of the pin
}

// Sample says that only some rows of mirrored inputs are wanted, chosen at random.
type Sample struct {
	Rows int64
	Seed uint64
}

// Column is PostgreSQL's description of a column of an input.
type Column struct {
	Attnum    int16
	Type      uint32
	Typmod    int32
	Collation uint32
	KeyOnly   bool // a canonical form of a key, compared but never returned
	Form      int  // what the bytes mean, a number of the extension's GjForm; only of an input that may be kept
	Scale     int  // decimals of a number in that form
}
