package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gpujoin/shm"
	"gpujoin/tests/harness"
)

// writeDocuments runs sql/regress on the selected server and writes the job
// documents that its queries send, sorted, each once, one on a line. Two trees whose
// planners make the same jobs write the same file.
func writeDocuments(root, to string) error {
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	dir := filepath.Join(env.Work, "documents")
	if err := errors.Join(os.RemoveAll(dir), env.Account.Mkdir(dir)); err != nil {
		return err
	}
	trace := filepath.Join(dir, "trace")
	run := regress("regress", "sql", ".sql", selected, harness.DaemonOptions{"trace": trace})
	if o := run(root); o.failed > 0 {
		return fmt.Errorf("sql/regress failed:\n%s", o.output)
	}
	f, err := os.Open(trace)
	if err != nil {
		return err
	}
	defer f.Close()
	found := map[string]bool{}
	for record, err := range shm.ReadTrace(f) {
		if err != nil {
			return err
		}
		frame, err := shm.ParseFrame(record.Frame[:shm.FrameSize])
		if err != nil {
			return err
		}
		if frame.Type != shm.MsgOpen {
			continue
		}
		_, document, err := shm.DecodePrefix[shm.Open](record.Frame[shm.FrameSize:])
		if err != nil {
			return err
		}
		found[stable(string(document))] = true
	}
	if len(found) == 0 {
		return errors.New("the trace has no job")
	}
	text := strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
	fmt.Printf("%d documents\n", len(found))
	return os.WriteFile(to, []byte(text), 0o644)
}

// unstable are the parts of a document that differ from run to run: estimates, which
// depend on the rows that ANALYZE has sampled; object identifiers; and parameters of 15
// digits, which are the current time in microseconds.
var unstable = []struct {
	part *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`"(rows|groups|database|relation)":[0-9]+`), `"$1":0`},
	{regexp.MustCompile(`"type":[0-9]{5,}`), `"type":0`}, // of types that a test has made
	{regexp.MustCompile(`pg_temp_[0-9]+`), `pg_temp`},
	{regexp.MustCompile(`([[,])[0-9]{15}([],])`), "${1}now$2"},
	{regexp.MustCompile(`([[,])[0-9]{15}([],])`), "${1}now$2"}, // of a pair of neighbours, the other one
	{regexp.MustCompile(`\n`), " "},
}

func stable(document string) string {
	for _, u := range unstable {
		document = u.part.ReplaceAllString(document, u.by)
	}
	return document
}

// diffDocuments prints the documents that only one of two files has.
func diffDocuments(a, b string) error {
	sides := [2]map[string]bool{{}, {}}
	for i, name := range []string{a, b} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			sides[i][string(line)] = true
		}
	}
	different := 0
	for i, mark := range []string{"-", "+"} {
		for _, line := range slices.Sorted(maps.Keys(sides[i])) {
			if !sides[1-i][line] {
				fmt.Print(mark, line)
				different++
			}
		}
	}
	if different > 0 {
		return fmt.Errorf("%d documents differ", different)
	}
	fmt.Printf("the same %d documents\n", len(sides[0]))
	return nil
}
