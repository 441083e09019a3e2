package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// No object of EXPLAIN's JSON has two properties of one name: parsers keep one of them.
func TestExplainNamesAreUnique(t *testing.T) {
	w := theWorld(t)
	for name, sql := range map[string]string{
		"joins": twoJoins,
		"block": "select d.v, count(*), sum(f.id) from fact f join dim d on f.k = d.k group by d.v having count(*) > 0",
		"sets":  "select d.v, f.g, count(*) from fact f join dim d on f.k = d.k group by rollup (d.v, f.g)",
	} {
		for _, workers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				s := w.Session(t, forced, "set gpujoin.enable_aggregates = on", fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
				rows := query(t, s, "explain (analyze, verbose, buffers, format json) "+sql).Rows
				text := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(strings.Join(rows, "\n"))
				if !strings.Contains(text, `"Participants"`) {
					t.Fatalf("nothing was offloaded:\n%s", text)
				}
				if twice := repeatedName(t, json.NewDecoder(strings.NewReader(text))); twice != "" {
					t.Errorf("an object has %q twice:\n%s", twice, text)
				}
			})
		}
	}
	w.Unharmed(t, nil)
}

// repeatedName reads a JSON value and returns a name that one of its objects has twice; "" if
// none has.
func repeatedName(t *testing.T, d *json.Decoder) (twice string) {
	t.Helper()
	next := func() json.Token {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	open, ok := next().(json.Delim)
	if !ok {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name := next().(string)
			if seen[name] {
				twice = name
			}
			seen[name] = true
		}
		if inner := repeatedName(t, d); inner != "" {
			twice = inner
		}
	}
	next()
	return twice
}
