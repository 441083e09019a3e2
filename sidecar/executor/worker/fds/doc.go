// Package fds passes extents to a worker over a socket pair; the worker
// inherits one end. Each packet carries the extents' descriptors as ancillary
// data. The worker sends nothing. Either side detects the end of the other by
// the end of the socket.
package fds
