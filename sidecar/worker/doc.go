// Package worker implements an executor whose joins run in a child process, the
// worker.
//
// A supervisor keeps the child running. It probes for the child's requirements,
// starts the child, polls its status, and restarts it after it has ended. The
// pause before a restart grows with each end; after too many ends the
// supervisor waits for a long time. It kills a child that hangs or violates the
// protocol.
//
// Rows are stored in the daemon's extents. The child receives each extent once,
// over an inherited socket, and learns over gRPC which bytes hold a job's
// inputs and batches. The daemon does not reuse memory that a child may write
// until the child has released it or its process has ended. The daemon
// validates everything that the child sends.
package worker
