// Package shm is the Go mirror of shm/layout.h: the bytes that a backend and
// the daemon share.
//
// Two kinds of bytes occur. Extents are sealed memfds of one fixed size that
// hold one batch of rows in column layout, or long values one behind another;
// frames are the control messages on the unix socket, and may carry file
// descriptors. A test compiles layout.h and compares every struct, enum and
// constant with what stands here.
//
// Everything that comes from a peer is copied once and checked on the copy.
// What stays in shared memory (values, offsets, bitmaps) is handed out as
// slices that cannot grow; their content may change under the reader at any
// time, so that users clamp what they read there.
//
// The layout is little-endian; the package builds on such machines only.
package shm
