package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The expected results are PostgreSQL 15's. newer has what later versions print
// differently although the plan is the same: each pattern is replaced in the
// expected and in the actual result.
var newer = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// 17 does not say which parameters a plan sets
	{regexp.MustCompile(`((?:Init|Sub)Plan \d+) \(returns [^)]*\)`), "$1"},
	// 17 shows what NOT IN compares
	{regexp.MustCompile(`\(NOT \(ANY \(.* = \((hashed SubPlan \w+)\)\.col\d+\)\)\)`), "(NOT ($1))"},
	// 18 prints two decimal places of the rows of a node
	{regexp.MustCompile(`( rows=\d+)\.\d\d\b`), "$1"},
	// 18 says that a node is disabled
	{regexp.MustCompile(`^Disabled: true$`), ""},
	// 18 counts the searches of an index
	{regexp.MustCompile(`^Index Searches: \d+$`), ""},
	// 18 describes a window in a line of its own
	{regexp.MustCompile(`^Window: .*$`), ""},
	{regexp.MustCompile(`OVER w\d+\b`), "OVER (?)"},
	// 18 says how a node stores tuples
	{regexp.MustCompile(`^Storage: .*$`), ""},
	// 17 names the output of an InitPlan, 15 its parameter
	{regexp.MustCompile(`\$\d+\b|\(InitPlan \w+\)\.col\d+`), "$$N"},
	// 19 numbers plans of subqueries by their kind: "InitPlan expr_1"
	{regexp.MustCompile(`((?:Init|Sub)Plan) \w+`), "$1 ?"},
	// 19 names subqueries of a UNION like those of FROM
	{regexp.MustCompile(`"\*SELECT\* \d+"|unnamed_subquery_\d+`), "*SELECT*"},
	// 19 says what a Result replaces
	{regexp.MustCompile(`^"?Replaces"?: .*$`), ""},
	// 18 shows buffers with ANALYZE
	{regexp.MustCompile(`^(Buffers: .*|Planning:)$`), ""},
	// 18 says of each node whether it is disabled; lines of a list lose their ends, since
	// the last one has no comma
	{regexp.MustCompile(`^"?Disabled"?: (true|false),?\s*\+?$`), ""},
	{regexp.MustCompile(`^("?[A-Z].*?),?\s*\+?$`), "$1"},
	// 18 shows an extension's default version
	{regexp.MustCompile(`^(Name +\| Version +\|) Default version +\|`), "$1"},
	{regexp.MustCompile(`^(gpujoin +\| [\d.]+ +\|) [\d.]+ +\|`), "$1"},
}

// grouped matches lines of a block's grouping, in which 18 names the table of each column.
var (
	grouped = regexp.MustCompile(`^(Group Key|Aggregates|Having): `)
	table   = regexp.MustCompile(`\b[a-z_]\w*\.([a-z_"])`)
)

// layout matches lines that depend on the length of others.
var layout = regexp.MustCompile(`^(-[-+]*|\(\d+ rows?\))?$`)

// settings matches the line of EXPLAIN (SETTINGS), which 15 sorts.
var settings = regexp.MustCompile(`^(Settings: )(.*)$`)

// comparable returns the lines of a result as every version prints them.
func comparable(result string) []string {
	var lines []string
	for line := range strings.Lines(result) {
		line = strings.TrimSpace(line)
		for _, n := range newer {
			line = n.pattern.ReplaceAllString(line, n.with)
		}
		if grouped.MatchString(line) {
			line = table.ReplaceAllString(line, "$1")
		}
		if m := settings.FindStringSubmatch(line); m != nil {
			line = m[1] + strings.Join(slices.Sorted(slices.Values(strings.Split(m[2], ", "))), ", ")
		}
		if !layout.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// onlyNewer reports whether a test's result differs from an expected one only in what
// later versions print differently. A test has other expected results, NAME_1.out and
// NAME_2.out, if a later version has other plans.
func onlyNewer(expectedDir, resultDir, test string) bool {
	result, err := os.ReadFile(filepath.Join(resultDir, test+".out"))
	if err != nil {
		return false
	}
	for _, name := range []string{test + ".out", test + "_1.out", test + "_2.out"} {
		expected, err := os.ReadFile(filepath.Join(expectedDir, name))
		if err == nil && slices.Equal(comparable(string(expected)), comparable(string(result))) {
			return true
		}
	}
	return false
}
