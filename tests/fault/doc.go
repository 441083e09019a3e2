// Package fault tests what happens when something goes wrong: the daemon is
// killed or stopped, a backend is cancelled or terminated, the budget is
// exhausted, in every phase of a job. A proxy between backend and daemon that
// knows frames brings both to a chosen phase. Each test ends with the same
// four checks: the server was not restarted, another connection's query is
// right, descriptors and shared memory are back where they were, and the next
// query is offloaded again or falls back.
package fault
