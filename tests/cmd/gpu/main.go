// Command gpu measures and tests joins on GPUs. Without the tag cuda it has the
// subcommand e2e alone, which needs neither cgo nor the driver's library.
package main

import (
	"os"

	"gpujoin/tests/command"
	"gpujoin/tests/gpu/e2e"
)

var subcommands = []command.Subcommand{
	{Name: "e2e", Purpose: "joins, TPC-H and faults through PostgreSQL", Run: e2e.Run},
}

func main() { command.Main("gpu", os.Args[1:], subcommands) }
