// Package sidecar is the daemon: it takes jobs from backends over a unix
// socket, lets them fill extents, executes the join and deals the result.
//
// One connection is one session, and belongs to one participant of one job.
// A session reads its frames in a goroutine of its own and never waits for
// another one: what waits (admission, the join) runs beside it, and what is
// sent to a peer that does not read is queued. A job ends with its last
// session. Locks are taken in the order job, Server, session, outbox, memory.
//
// Nothing that a peer sends can end the process: every length, count and id
// is checked, a panic of a job is that job's failure, and extents are sealed,
// so that their pages cannot vanish.
package sidecar
