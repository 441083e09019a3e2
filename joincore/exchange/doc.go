// Package exchange moves rows between GPUs: the data distribution of MG-Join
// (section 4 of the paper) as state machines. A Node is one GPU's part. It
// decides which packets travel over which routes, queues them, counts the
// receive buffers of its neighbours, and forwards what passes through. It has
// no clock, no goroutine and no memory of its own: a Fabric carries out the
// copies and calls the Node when one is complete. Package sim is a Fabric with a
// virtual clock; package live has one of goroutines and real copies.
//
// The methods of a Node must not run at the same time. A Fabric calls them from
// its own event loop, never from within Send or Tell.
package exchange
