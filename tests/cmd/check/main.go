// Command check runs everything that make test promises, one step after the
// other, and ends with one line: how many checks passed and how many failed.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// outcome is a step's: each test of a step that has tests counts.
type outcome struct {
	passed, failed int
	note           string // shown beside the counts
	output         string // shown when something failed
}

type step struct {
	group, name string
	run         func(root string) outcome
}

func main() {
	only := flag.String("only", "", "run one group: lint, unit, cuda, regress or e2e; or gpu, on a machine with a GPU")
	flag.Parse()
	root, err := harness.Root()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(2)
	}
	steps := slices.Concat(lintSteps(), goTestSteps(), cudaSteps(), regressSteps())
	if *only == "gpu" {
		steps = gpuSteps(root)
	}
	var passed, failed int
	var broken []string
	for _, s := range steps {
		if *only != "" && s.group != *only {
			continue
		}
		fmt.Printf("%-8s %-28s ", s.group, s.name)
		begin := time.Now()
		o := s.run(root)
		passed += o.passed
		failed += o.failed
		fmt.Printf("%5d passed %3d failed  %6.1f s  %s\n", o.passed, o.failed, time.Since(begin).Seconds(), o.note)
		if o.failed > 0 {
			broken = append(broken, s.group+" "+s.name)
			fmt.Println(strings.TrimRight(o.output, "\n"))
		}
	}
	if failed > 0 {
		fmt.Println("failed:", strings.Join(broken, ", "))
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
