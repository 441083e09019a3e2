// Package live executes exchanges with real copies: it runs one exchange.Node for
// each GPU, has a Fabric carry out the nodes' copies, and passes notes between them.
//
// A goroutine for each GPU steps its node, because the methods of a node must not run
// at the same time. Copies complete on other goroutines, which leave a message. An
// exchange ends when no message and no copy is left: either all nodes are drained, or
// it has stalled, which is an error.
package live
