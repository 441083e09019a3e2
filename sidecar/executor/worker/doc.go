// Package worker is a worker process as the daemon sees it: an executor whose
// joins run in a child process.
//
// A supervisor keeps the child alive: it probes for what the child needs,
// starts it, asks it for a sign of life, and starts it again after it has
// ended, later each time, and after too many ends not for a good while. A
// child that hangs or breaks the protocol is killed.
//
// Rows lie in the daemon's extents. The child gets every extent once, over a
// socket that it inherits, and is told over gRPC which bytes of them are a
// job's inputs and batches. What a child may write is not used for anything
// else before the child has said that it is done with it, or its process has
// ended. Nothing that it says is believed without a check.
package worker
