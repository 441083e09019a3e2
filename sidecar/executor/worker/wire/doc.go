// Package wire is what a daemon and its worker say to each other: the
// messages of worker.proto, and the translation of plans, rows, statistics and
// errors. Decoding trusts nothing that the other side sent.
//
// The generated files are kept in the repository, so that building needs no
// generator. To make them anew, with Debian's protobuf-compiler:
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//	go generate ./sidecar/executor/worker/wire
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative worker.proto
