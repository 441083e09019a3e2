// Command manual writes the manual pages of gpujoind, one for each of its commands, into
// a directory.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"gpujoin/sidecar/cli"
	"gpujoin/version"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manual DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	return doc.GenManTree(root, &doc.GenManHeader{Section: "8", Source: "gpujoin " + version.Text, Manual: "gpujoin"}, dir)
}
