// Package fabric is the memory of several GPUs and the copies between them: the fabric
// of real exchanges.
//
// Each hop of the mesh has a stream on the GPU that sends. Packets that are contiguous at
// both ends are one piece of a copy. Copy engines execute the pieces; or, where
// Options.ByThreads says so, threads of that GPU: one kernel for all pieces of a copy, which
// writes a mark into host memory when it has ended. Where a GPU cannot access another one's
// memory, or the mesh says so, a copy is staged: it passes through two halves of a page-locked
// buffer, so that the way down and the way up overlap. A goroutine polls for the end of copies
// without sleeping, because a copy takes less time than the system's shortest sleep.
//
// A fabric may have several GPUs of the mesh on one device (logical devices). With
// Options.Emulate, copies take at least as long as the links of the mesh allow, so that
// the exchange of a larger machine runs on few devices.
package fabric
