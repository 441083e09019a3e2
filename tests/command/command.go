// Package command is the main function of programs that consist of subcommands.
package command

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

// Subcommand is one of a program's: "bench join -rows 1000" runs the one named join.
type Subcommand struct {
	Name    string
	Purpose string // for the list of subcommands
	// Run defines its flags in a set, has the set parse the arguments, and does the work.
	Run func(ctx context.Context, flags *flag.FlagSet, args []string) error
}

// Main runs the subcommand that the first argument names. An interrupt cancels its
// context. Main exits with 1 if the subcommand fails, and with 2 if there is no such
// subcommand or flag.
func Main(program string, args []string, subcommands []Subcommand) {
	var name string
	if len(args) > 0 {
		name = args[0]
	}
	i := slices.IndexFunc(subcommands, func(s Subcommand) bool { return s.Name == name })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "usage: %s SUBCOMMAND FLAGS; -help shows the flags of a subcommand\n", program)
		for _, s := range subcommands {
			fmt.Fprintf(os.Stderr, "  %-10s %s\n", s.Name, s.Purpose)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	full := program + " " + name
	if err := subcommands[i].Run(ctx, flag.NewFlagSet(full, flag.ExitOnError), args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", full, err)
		os.Exit(1)
	}
}
