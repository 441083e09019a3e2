// Command proof shows that gpujoin is reliable: it causes faults, and lets many clients work
// for long.
package main

import (
	"os"

	"gpujoin/tests/command"
	"gpujoin/tests/faults"
	"gpujoin/tests/soak"
)

func main() {
	command.Main("proof", os.Args[1:], []command.Subcommand{
		{Name: "faults", Purpose: "faults in each phase of a query, and what is left of them", Run: faults.Run},
		{Name: "soak", Purpose: "32 clients that do everything for long", Run: soak.Run},
	})
}
