// Package exchange moves rows between GPUs: the data distribution of MG-Join
// (section 4 of the paper) as state machines. A Node is one GPU's part. It
// decides which packets travel over which routes, queues them, counts the
// receive buffers of its neighbours, and forwards what passes through. It has
// no clock, no goroutine and no memory of its own: a Fabric carries out the
// copies and calls the Node when one ends. A simulator, goroutines and CUDA
// streams drive the same code.
//
// All methods of one Node must be called by one goroutine at a time. A Fabric
// may call them from within nothing but its own event loop: Send and Tell must
// return before their effects arrive.
package exchange
