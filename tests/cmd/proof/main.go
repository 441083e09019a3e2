// Command proof shows that gpujoin is reliable: it causes faults.
package main

import (
	"os"

	"gpujoin/tests/command"
	"gpujoin/tests/faults"
)

func main() {
	command.Main("proof", os.Args[1:], []command.Subcommand{
		{Name: "faults", Purpose: "faults in each phase of a query, and what is left of them", Run: faults.Run},
	})
}
