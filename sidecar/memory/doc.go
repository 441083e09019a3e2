// Package memory holds all memory of the daemon that grows with the data:
// extents, which are shared with backends, and blocks, which are the
// algorithms' own. Neither lies in the Go heap.
//
// A Budget says how much there may be and who waits for it; every job has an
// Account with a reservation out of it. A Store owns the pages: what a job
// gives back stays warm for the next one, because fresh pages cost 0.3 to
// 0.6 s/GB, and is dropped when the budget needs the room or nobody works.
package memory
