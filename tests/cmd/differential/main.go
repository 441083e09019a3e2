// Command differential runs queries natively and offloaded and compares the results.
package main

import (
	"os"
	"strings"

	"gpujoin/tests/command"
	"gpujoin/tests/differential"
	"gpujoin/tests/differential/regress"
	"gpujoin/tests/keptcheck"
	"gpujoin/tests/mirrorcheck"
	"gpujoin/tests/sqllogic"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"random"}, args...)
	}
	command.Main("differential", args, []command.Subcommand{
		{Name: "random", Purpose: "random queries; the default", Run: differential.Run},
		{Name: "kept", Purpose: "queries over kept columns, while everything changes", Run: keptcheck.Run},
		{Name: "mirror", Purpose: "queries of another server's tables, while it changes and fails", Run: mirrorcheck.Run},
		{Name: "regress", Purpose: "PostgreSQL's own suites", Run: regress.Run},
		{Name: "sqllogic", Purpose: "files of the sqllogictest format", Run: sqllogic.Run},
	})
}
