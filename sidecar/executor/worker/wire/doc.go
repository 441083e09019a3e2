// Package wire defines the protocol between the daemon and a worker: the
// messages of worker.proto and the encoding of plans, rows, statistics and
// errors. Decoding validates everything that the peer sent.
//
// The generated files are checked in, so that a build needs no generator. To
// regenerate them with Debian's protobuf-compiler:
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//	go generate ./sidecar/executor/worker/wire
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative worker.proto
