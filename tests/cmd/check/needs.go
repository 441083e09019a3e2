package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
)

// probes are statements that succeed if the server has a feature. The first line
// of a regression test names the feature that it needs: "-- needs ICU".
var probes = map[string]string{
	"ICU":                       "create collation probe (provider = icu, locale = 'und'); drop collation probe",
	"file_fdw":                  "create extension file_fdw; drop extension file_fdw",
	"libxml":                    "select xml '<a/>'",
	"virtual generated columns": "create table probe (a int, b int generated always as (a) virtual); drop table probe",
}

// split returns the tests that can run, and the names and reasons of those that
// cannot, because the server lacks a feature. dir has the tests' files.
func split(ctx context.Context, s *harness.Session, dir string, tests []string) (run, skipped []string, err error) {
	for _, test := range tests {
		need, err := needs(filepath.Join(dir, test+".sql"))
		if err != nil {
			return nil, nil, err
		}
		switch probe, known := probes[need]; {
		case need == "":
			run = append(run, test)
		case !known:
			return nil, nil, fmt.Errorf("%s.sql needs %q, which is no known feature", test, need)
		case s.Exec(ctx, probe) != nil:
			skipped = append(skipped, fmt.Sprintf("%s (no %s)", test, need))
		default:
			run = append(run, test)
		}
	}
	return run, skipped, nil
}

// needs returns the feature that a test needs, "" if it needs none or is no
// regression test.
func needs(path string) (string, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	first, _, _ := strings.Cut(string(text), "\n")
	need, _ := strings.CutPrefix(first, "-- needs ")
	if need == first {
		need = ""
	}
	return need, err
}
