// Package sqltest has helpers for tests that run SQL in a private server with a
// daemon: sessions whose errors end the test, the daemon's report, and checks
// that all resources are released.
package sqltest
