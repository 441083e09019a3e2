package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gpujoin/tests/harness"
)

// difference compares two results of a query: the rows as multisets, and their
// order as far as ORDER BY decides it.
func difference(sql string, want, got *harness.Result) string {
	if d := harness.SameRows(want, got); d != "" {
		return d
	}
	columns := sortColumns(sql, want.Columns)
	for i := range want.Rows {
		if w, g := project(want.Rows[i], columns), project(got.Rows[i], columns); !slices.Equal(w, g) {
			return fmt.Sprintf("row %d is ordered differently: %q instead of %q", i+1, g, w)
		}
	}
	return ""
}

func project(row string, columns []int) []string {
	fields := strings.Split(row, "\t")
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = fields[c]
	}
	return values
}

var (
	orderBy   = regexp.MustCompile(`(?i)\border\s+by\b`)
	direction = regexp.MustCompile(`(?i)(\s+(asc|desc))?(\s+nulls\s+(first|last))?\s*$`)
	limit     = regexp.MustCompile(`(?i)\blimit\s+\d+\s*;?\s*$`)
)

// withoutLimit returns the query without its LIMIT, and whether it had one.
func withoutLimit(sql string) (string, bool) {
	place := limit.FindStringIndex(sql)
	if place == nil {
		return sql, false
	}
	return sql[:place[0]], true
}

// sortColumns returns the output columns by which a query sorts, as indexes: the
// longest prefix of its ORDER BY that names columns, by name or by number. Rows
// that agree in these may come in any order.
func sortColumns(sql string, names []string) []int {
	sql, _ = withoutLimit(strings.TrimRight(sql, "; \n"))
	last := []int(nil)
	for _, place := range orderBy.FindAllStringIndex(sql, -1) {
		if strings.Count(sql[:place[0]], "(") == strings.Count(sql[:place[0]], ")") {
			last = place
		}
	}
	if last == nil {
		return nil
	}
	var columns []int
	for _, expression := range topLevel(sql[last[1]:]) {
		expression = strings.TrimSpace(direction.ReplaceAllString(strings.TrimSpace(expression), ""))
		column := slices.Index(names, strings.ToLower(expression))
		if n, err := strconv.Atoi(expression); err == nil && n >= 1 && n <= len(names) {
			column = n - 1
		}
		if column < 0 {
			break
		}
		columns = append(columns, column)
	}
	return columns
}

// topLevel splits a list at the commas that are not in parentheses.
func topLevel(list string) []string {
	var parts []string
	depth, begin := 0, 0
	for i, c := range list {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, list[begin:i])
				begin = i + 1
			}
		}
	}
	return append(parts, list[begin:])
}
