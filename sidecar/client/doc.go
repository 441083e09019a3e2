// Package client plays a backend: it speaks the protocol of shm/layout.h from
// Go, for tests of the daemon and for its command line. It knows how to
// misbehave, too: every message can be sent at any time.
package client
