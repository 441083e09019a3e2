//go:build cuda

package main

import (
	"gpujoin/tests/command"
	"gpujoin/tests/gpu/bench"
	"gpujoin/tests/gpu/bytes"
	"gpujoin/tests/gpu/multi"
)

func init() {
	subcommands = append(subcommands,
		command.Subcommand{Name: "bench", Purpose: "joins of columns in a GPU's memory", Run: bench.Run},
		command.Subcommand{Name: "bytes", Purpose: "bytes that these joins move, counted by ncu", Run: bytes.Run},
		command.Subcommand{Name: "multi", Purpose: "several GPUs: links, exchanges, joins", Run: multi.Run})
}
