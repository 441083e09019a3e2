// Package control is the protocol between the daemon and a worker: the messages of
// worker.proto, the encoding of rows, statistics and errors, and the passing of
// extents. A plan travels as the job that the extension has sent. Decoding validates
// everything that the peer sent.
//
// Extents travel on a socket pair of their own, of which the worker inherits one
// end. Each packet carries the extents' descriptors as ancillary data. The worker
// sends nothing there. Either side detects the end of the other by the end of the
// socket.
//
// The generated files are checked in, so that a build needs no generator. To
// regenerate them with Debian's protobuf-compiler:
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//	go generate ./sidecar/worker/control
package control

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative worker.proto
