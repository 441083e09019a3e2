// Package kept stores columns of tables between queries: what a query has fed stays in the
// daemon, and later queries read it instead of the table's pages.
//
// Columns are kept by heap block. A block is served only while PostgreSQL itself proves that
// its page has not changed since and that all its tuples are visible to every snapshot. The
// proof rests on three numbers that the backends report and that this package compares:
//
//   - A block is captured with the LSN of its page, if the page was marked all-visible before
//     and after its tuples were collected, its LSN was the same both times, and the WAL up to
//     it is on disk. (An LSN that is not on disk may be used again after a crash.) The
//     backends check that.
//   - Setting a bit of the visibility map (VM) stamps the VM's page with a new LSN; clearing
//     one may not. So, while a VM page has the same LSN, a bit that is set now has been set all
//     the time, and the block has not changed. This is level 1: blocks that were proved at that
//     very VM LSN are served without a look at their pages.
//   - Any change of a page gives it a new LSN. So a block whose bit is set, and whose page has
//     the LSN with which it was captured, is as it was captured. This is level 2: the backends
//     compare the LSNs, and the blocks are proved at the new VM LSN.
//
// All other blocks are fed.
package kept

import (
	"time"

	"gpujoin/joincore"
)

const (
	// GroupBlocks is the number of heap blocks of one page of the visibility map.
	GroupBlocks = 32672
	// ChunkBlocks is the number of blocks whose columns are stored together. The last chunk
	// of a group has fewer.
	ChunkBlocks = 512
	// BitmapBytes is the size of a bitmap of the blocks of a group, with its padding.
	BitmapBytes = 4088

	groupChunks = (GroupBlocks + ChunkBlocks - 1) / ChunkBlocks
	// mostRows limits the rows of one block; the largest pages hold 1163 tuples.
	mostRows = 4096
)

// Table names the present file of a table. A rewrite of the table changes it.
type Table struct {
	System                               uint64 // system identifier of the cluster
	Start                                int64  // when its postmaster started
	Timeline, Database, Tablespace, File uint32 // File: relfilenode
}

// Column names a column and the form in which its values are fed. Columns that are equal have
// the same bytes for the same block.
type Column struct {
	Attnum      int16
	Type        uint32
	Typmod      int32
	Collation   uint32
	Form, Scale int
	Physical    joincore.Column
}

// Group is a copy of one page of the visibility map.
type Group struct {
	LSN     uint64 // of the page; 0: it has none, and nothing of the group is served
	Visible []byte // bit i, least significant first: block i of the group is all-visible
}

// Policy says when a use of columns captures what it feeds of them.
type Policy int

// Policies.
const (
	Auto   Policy = iota // from the second use within Options.Interest
	Always               // from the first use
	Off                  // never: the use is only served
)

// Request describes a scan of a table. The backend copied the pages of the visibility map
// after it had taken the snapshot of the scan.
type Request struct {
	Table   Table
	Columns []Column
	Blocks  uint32  // of the table; the scan reads no others
	Groups  []Group // of all blocks; the lease keeps them, so they must not change
	Flushed uint64  // WAL up to this LSN is on disk
	Policy  Policy
	Now     time.Time
	Name    string // of the table in its database, for people; "": not known
	Job     uint64 // for which it is, for people
	PID     int32  // of the backend that the job belongs to, for people
}

// State says what participants do with the blocks of a group.
type State uint8

// States, numbered as in the protocol.
const (
	Fed   State = iota // feed all
	Kept               // feed none
	Mixed              // see Lease.Blocks
)

// Block is a block of a captured batch.
type Block struct {
	Number uint32 // in the table
	First  uint32 // its first row in the batch; the next block's first row ends it
	LSN    uint64 // of its page; 0: it may not be kept
}

// Source is memory that the rows of a captured batch lie in. The store retains it until it
// has copied them.
type Source interface {
	Retain()
	Release()
}

// Memory is where the store gets its memory. Its errors mean that there is none to be had
// now. The store calls it, and Extent.Release, with its lock held: neither may wait for the
// store, nor call it, not even to have it shrink.
type Memory interface {
	ExtentSize() int64 // bytes of every extent
	Extent() (Extent, error)
}

// Extent is memory of the fixed size of all extents, aligned to 64 bytes, until Release is
// called.
type Extent struct {
	Data    []byte
	Release func()
}

// Options are the limits of a store.
type Options struct {
	Limit    int64         // bytes of extents and of the directory together
	Interest time.Duration // Auto captures at a second use within this time; 0: an hour
	// Gone is told contents (joincore.Vector) that no later lease has: what devices have of
	// them is of no use. It is called with the store's lock held. nil: nobody is told.
	Gone func(content uint64)
}
