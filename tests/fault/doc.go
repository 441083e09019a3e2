// Package fault tests failures in every phase of a job: the daemon is killed or
// stopped, a backend is cancelled or terminated, the budget is exhausted. A
// proxy between backend and daemon that understands frames brings both to a
// chosen phase. Each test ends with the same four checks: the server was not
// restarted, another connection's query is right, descriptors and shared memory
// are back to their former number, and the next query is offloaded again or
// falls back. query is offloaded again or falls back.
package fault
