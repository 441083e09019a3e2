// Package handover gives extents to a worker: over a socket pair whose one end
// the worker inherits, a packet at a time, with descriptors beside it. The
// worker sends nothing; the end of the socket is how each side learns that the
// other one is gone.
package fds
