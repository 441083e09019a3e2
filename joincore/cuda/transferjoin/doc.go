// Package transferjoin measures joins of inputs in host memory that reach a GPU by each method of
// transfer, as figure 12 of Lutz et al., "Pump Up the Volume" (SIGMOD 2020, section 7.2.1), does.
//
// A Workload is one of that paper's in shape: tuples of a key and a payload of 8 bytes each, stored by
// column; each probe row has one partner; the join has no partitions. The payloads of both sides are
// added up on the device, so that one row returns, and the sums are compared with those of the host.
// The segments are as large as the daemon's.
//
// Everything that needs a device has the build tag cuda.
package transferjoin
