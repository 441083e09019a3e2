// Package memory manages all memory of the daemon that grows with the data:
// extents, which are shared with backends, and blocks, which are private to the
// algorithms. Both are outside the Go heap.
//
// A Budget limits the total and queues the jobs that must wait; each job has an
// Account with a reservation from the Budget. A Store owns the pages. It keeps
// the pages that a job returns for the next job, because fresh pages cost 0.3
// to 0.6 s/GB, and drops them when the budget needs the space or the daemon is
// idle.
package memory
