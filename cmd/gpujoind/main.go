// Command gpujoind is the daemon that executes offloaded joins.
package main

import (
	"os"

	"gpujoin/sidecar/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
