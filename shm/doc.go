// Package shm is the Go mirror of shm/layout.h: the bytes that a backend and the
// daemon share.
//
// There are two kinds. Extents are sealed memfds of one fixed size; each holds a batch
// of rows in column layout, or consecutive long values. Frames are the control
// messages on the unix socket, and may carry file descriptors. A test compiles
// layout.h and its parts, and compares every struct, enum and constant with this
// package.
//
// Headers from a peer are copied once, and the copy is checked. Values, offsets and
// bitmaps stay in shared memory and are returned as slices that cannot grow. Their
// content may change at any time, so users clamp the values that they read.
//
// The layout is little-endian; the package builds only for little-endian machines.
package shm
