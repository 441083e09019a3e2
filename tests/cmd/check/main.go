// Command check runs all steps of make test, one after the other, and ends with
// one line: the numbers of passed and failed checks.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// outcome is the result of a step; each test of the step counts.
type outcome struct {
	passed, failed int
	took           time.Duration // 0: the time since the step's start
	note           string        // shown next to the counts
	output         string        // shown if something failed
}

type step struct {
	group, name string
	run         func(root string) outcome
}

func main() {
	only := flag.String("only", "", "run one group: lint, unit, cuda, regress or e2e; or gpu or multi, on a machine with GPUs")
	flag.StringVar(&chosen, "tests", "", "with -only regress: run these tests of sql/regress and sql/isolation alone, with commas between")
	documents := flag.String("documents", "", "write the job documents of sql/regress to this file, and nothing else")
	diff := flag.Bool("diff-documents", false, "compare two such files, which are the arguments")
	flag.Parse()
	root, err := harness.Root()
	switch {
	case err != nil:
	case *documents != "":
		err = writeDocuments(root, *documents)
	case *diff && flag.NArg() == 2:
		err = diffDocuments(flag.Arg(0), flag.Arg(1))
	case *diff:
		err = errors.New("-diff-documents needs two files")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(2)
	}
	if *documents != "" || *diff {
		return
	}
	steps := slices.Concat(lintSteps(), goTestSteps(), cudaSteps(), regressSteps())
	if *only == "gpu" {
		if steps, err = gpuSteps(); err != nil {
			fmt.Fprintln(os.Stderr, "check:", err)
			os.Exit(2)
		}
	}
	if *only == "multi" {
		steps = multiSteps()
	}
	var passed, failed int
	var broken, table []string
	for _, s := range steps {
		if *only != "" && s.group != *only {
			continue
		}
		fmt.Printf("%-8s %-28s ", s.group, s.name)
		begin := time.Now()
		o := s.run(root)
		passed += o.passed
		failed += o.failed
		if o.took == 0 {
			o.took = time.Since(begin)
		}
		counts := fmt.Sprintf("%5d passed %3d failed  %6.1f s  %s", o.passed, o.failed, o.took.Seconds(), o.note)
		fmt.Println(counts)
		table = append(table, fmt.Sprintf("%-8s %-28s %s", s.group, s.name, counts))
		if o.failed > 0 {
			broken = append(broken, s.group+" "+s.name)
			fmt.Println(strings.TrimRight(o.output, "\n"))
		}
	}
	if failed > 0 {
		// Again, without the output in between.
		fmt.Printf("\n%s\n", strings.Join(table, "\n"))
		fmt.Println("failed:", strings.Join(broken, ", "))
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
