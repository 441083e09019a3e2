package suite

import (
	"slices"
	"testing"

	"gpujoin/tests/harness"
)

func TestSortColumns(t *testing.T) {
	names := []string{"a", "b", "c"}
	for sql, want := range map[string][]int{
		"select a, b, c from t": nil,
		"select a, b, c from t order by b DESC NULLS FIRST, a limit 10;":       {1, 0},
		"select a, b, c from t order by 3, a nulls last":                       {2, 0},
		"select a, b, c from (select * from t order by c) x\nORDER BY\na asc;": {0},
		"select a, b, c from (select * from t order by c) x":                   nil,
		"select a, b, c from t order by a, coalesce(b, 1), c":                  {0},
		"select a, b, rank() over (order by a) c from t order by c":            {2},
	} {
		if got := sortColumns(sql, names); !slices.Equal(got, want) {
			t.Errorf("%s: %v instead of %v", sql, got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	const sql = "select a, b from t order by a limit 3"
	want := &harness.Result{Columns: []string{"a", "b"}, Rows: []string{"1\tx", "1\ty", "2\tz"}}
	for _, c := range []struct {
		rows  []string
		equal bool
	}{
		{[]string{"1\tx", "1\ty", "2\tz"}, true},
		{[]string{"1\ty", "1\tx", "2\tz"}, true},
		{[]string{"2\tz", "1\tx", "1\ty"}, false},
		{[]string{"1\tx", "1\ty"}, false},
		{[]string{"1\tx", "1\ty", "2\tw"}, false},
	} {
		d := difference(sql, want, &harness.Result{Columns: want.Columns, Rows: c.rows})
		if (d == "") != c.equal {
			t.Errorf("%q: %q", c.rows, d)
		}
	}
}

func TestWithoutLimit(t *testing.T) {
	if sql, limited := withoutLimit("select 1 LIMIT 100;"); sql != "select 1 " || !limited {
		t.Errorf("%q, %v", sql, limited)
	}
	if _, limited := withoutLimit("select * from (select 1 limit 1) x"); limited {
		t.Error("the LIMIT of a subquery is not the query's")
	}
}

func TestNumbers(t *testing.T) {
	if n, err := Numbers("3, 5 22", 22); err != nil || !slices.Equal(n, []int{3, 5, 22}) {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := Numbers("", 99); err != nil || len(n) != 99 {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := Numbers("23", 22); err == nil {
		t.Error("query 23 of 22 is accepted")
	}
}
