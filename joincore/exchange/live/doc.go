// Package live executes exchanges with real copies: it runs one exchange.Node for
// each GPU, has a Fabric carry out the nodes' copies, and passes notes between them.
//
// The methods of a node must not run at the same time. So each GPU belongs to a loop: a
// goroutine that handles the messages to its nodes and, without sleeping, asks the fabric
// which copies have ended. A loop sleeps only while none of its copies is under way,
// because waking a sleeping thread takes longer than a copy of some megabytes. All GPUs
// share one loop, on the caller's goroutine, as long as it can post copies faster than
// the links complete them; otherwise loops divide the GPUs.
//
// Where no GPU sends to more than one other, over one hop, nodes have nothing to decide. Such
// an exchange runs without them: the caller's goroutine posts the copies and waits for them.
//
// An exchange ends when no message and no copy is left: either all nodes are drained, or
// it has stalled, which is an error.
package live
