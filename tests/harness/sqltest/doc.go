// Package sqltest is what tests share that run SQL in a private server with a
// daemon beside it: sessions whose failures end the test, the daemon's own
// report, and what must be true when nothing is under way.
package sqltest
