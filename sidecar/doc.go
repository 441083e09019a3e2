// Package sidecar implements the daemon. It accepts jobs from PostgreSQL
// backends over a unix socket, grants them extents to fill, executes the join
// and distributes the result.
//
// Each connection is one session and belongs to one participant of one job. A
// goroutine per session reads its frames and never blocks on another session:
// work that waits (admission, the join) runs in other goroutines, and frames to
// a peer that does not read are queued. A job ends with its last session. Locks
// are taken in the order job, Server, session, outbox, memory.
//
// The result of a job is in four places: batches that the join makes, ready ones,
// those that participants hold and, if they stay unread while jobs wait for
// memory, those on disk. Ready batches go to disk and back, not those that are dealt: so
// the protocol knows nothing of the disk, and the order of batches is free.
//
// No input from a peer can end the process: the daemon checks every length,
// count and id, turns a panic of a job into that job's failure, and seals
// extents, so that their pages cannot be truncated.
package sidecar
