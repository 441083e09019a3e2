package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gpujoin/tests/harness"
)

// chosen are the tests that run, with commas between; "": all.
var chosen string

func regressSteps() []step {
	steps := []step{
		{"regress", "pg_regress", regress("regress", "sql", ".sql", selected, nil)},
		{"regress", "isolation", regress("isolation", "specs", ".spec", selected, nil)},
	}
	if major, err := selectedMajor(); err != nil || major != "15" {
		return steps // only the selected version
	}
	for _, major := range []string{"16", "18"} {
		steps = append(steps,
			step{"regress", "pg_regress, PostgreSQL " + major, regress("regress", "sql", ".sql", fetched(major), nil)},
			step{"regress", "isolation, PostgreSQL " + major, regress("isolation", "specs", ".spec", fetched(major), nil)})
	}
	return steps
}

// regress runs the files of sql/<suite>/<inputs> against a private cluster with
// a daemon.
func regress(suite, inputs, ending string, find finder, daemon harness.DaemonOptions) func(string) outcome {
	return func(root string) outcome {
		files, err := filepath.Glob(filepath.Join(root, "sql", suite, inputs, "*"+ending))
		if err != nil || len(files) == 0 {
			return one(false, fmt.Sprintf("no files in sql/%s/%s: %v", suite, inputs, err))
		}
		server, err := find(root)
		if err != nil {
			return one(false, err.Error()+"\n")
		}
		tests, err := inOrder(root, suite, files, ending)
		if err != nil {
			return one(false, err.Error())
		}
		if chosen != "" {
			tests = slices.DeleteFunc(tests, func(test string) bool { return !slices.Contains(strings.Split(chosen, ","), test) })
		}
		if len(tests) == 0 {
			return outcome{note: "none of the tests"}
		}
		o, err := runRegress(root, server, suite, tests, daemon)
		if err != nil {
			o.failed++
			o.output += err.Error() + "\n"
		}
		return o
	}
}

// inOrder returns the names of the tests, regression tests in the order of the
// extension's Makefile, because some prepare data for others.
func inOrder(root, suite string, files []string, ending string) ([]string, error) {
	var tests []string
	for _, f := range files {
		tests = append(tests, strings.TrimSuffix(filepath.Base(f), ending))
	}
	if suite != "regress" {
		return tests, nil
	}
	cmd := exec.Command("make", "-s", "-C", filepath.Join(root, "fdw"), "--no-print-directory",
		"PG_CONFIG="+harness.PGConfig(), "--eval", "tests: ; @echo $(REGRESS)", "tests")
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("order of tests: %w", err)
	}
	ordered := strings.Fields(string(out))
	if !slices.Equal(slices.Sorted(slices.Values(ordered)), slices.Sorted(slices.Values(tests))) {
		return nil, fmt.Errorf("fdw/Makefile runs %v, but there are %v", ordered, tests)
	}
	return ordered, nil
}

// database is also the name that make installcheck uses.
const database = "contrib_regression"

func runRegress(root string, server harness.Server, suite string, tests []string, daemon harness.DaemonOptions) (o outcome, err error) {
	env, err := harness.PrepareServer(root, server)
	if err != nil {
		return o, err
	}
	options := harness.DaemonOptions{"calibrate": "false"} // plans shall not depend on how busy this machine is
	maps.Copy(options, daemon)
	pair, err := env.StartPair(nil, options)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	cluster := pair.Cluster
	ctx := context.Background()
	s, err := cluster.Connect(ctx)
	if err != nil {
		return o, err
	}
	tests, skipped, err := split(ctx, s, filepath.Join(root, "sql", suite, "sql"), tests)
	if err := errors.Join(err, s.Exec(ctx, "create database "+database), s.Close()); err != nil {
		return o, err
	}
	if len(skipped) > 0 {
		o.note = "not run: " + strings.Join(skipped, ", ")
	}

	program := env.Prefix.Regress
	if suite == "isolation" {
		program = env.Prefix.Isolation
	}
	results := filepath.Join(root, "build", "regress", suite+strings.TrimPrefix(server.Private, "pg"))
	if err := errors.Join(os.RemoveAll(results), os.MkdirAll(results, 0o755)); err != nil {
		return o, err
	}
	args := []string{
		"--use-existing", "--dbname=" + database, "--user=postgres",
		"--host=" + cluster.Sock, fmt.Sprintf("--port=%d", harness.Port),
		"--bindir=" + env.Prefix.SystemBin,
		"--inputdir=" + filepath.Join(root, "sql", suite), "--outputdir=" + results,
	}
	cmd := exec.Command(program, append(args, tests...)...)
	cmd.Dir = results
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runErr := cmd.Run()
	counts := countRegress(out.String(), func(test string) bool {
		return !strings.Contains(env.Prefix.Version, " 15") &&
			onlyNewer(filepath.Join(root, "sql", suite, "expected"), filepath.Join(results, "results"), test)
	})
	o.passed, o.failed, o.output = counts.passed, counts.failed, out.String()
	if o.failed > 0 {
		if diffs, err := os.ReadFile(filepath.Join(results, "regression.diffs")); err == nil {
			o.output += string(diffs)
		}
	} else if o.passed != len(tests) {
		return o, fmt.Errorf("%s ran %d of %d tests: %v\n%s", filepath.Base(program), o.passed, len(tests), runErr, out.String())
	}
	return o, nil
}

// Results of tests as PostgreSQL 15 prints them ("test plan ... ok") and, from
// 16 on, as TAP ("ok 8 - plan").
var (
	resultLine = regexp.MustCompile(`(?m)^(?:test )?\s*(?P<test>\S+)\s+\.\.\.\s+(?P<result>ok|FAILED)`)
	tapLine    = regexp.MustCompile(`(?m)^(?P<result>ok|not ok)\s+\d+\s+[-+]\s+(?P<test>\S+)`)
)

// countRegress counts the tests of pg_regress's output. excused says which of the
// failed tests have passed all the same.
func countRegress(output string, excused func(test string) bool) outcome {
	var o outcome
	for _, line := range []*regexp.Regexp{resultLine, tapLine} {
		for _, m := range line.FindAllStringSubmatch(output, -1) {
			if m[line.SubexpIndex("result")] == "ok" || excused(m[line.SubexpIndex("test")]) {
				o.passed++
			} else {
				o.failed++
			}
		}
	}
	return o
}
