// Package backend acts as a PostgreSQL backend: it speaks the protocol of
// shm/layout.h from Go, for tests of the daemon and for its command line. It
// enforces no order of messages, so tests can violate the protocol.
package backend
