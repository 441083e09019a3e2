package sqllogic

import (
	"slices"
	"strings"
	"testing"
)

// sql returns the records' SQL, queries with a leading "?".
func sql(t *testing.T, text string) []string {
	t.Helper()
	records, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, r := range records {
		mark := ""
		if r.Query {
			mark = "?"
		}
		found = append(found, mark+r.SQL)
	}
	return found
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"records", "# a comment\nrequire parquet\n\nstatement ok\nCREATE TABLE t (a int);\n\nquery I rowsort\nSELECT a\nFROM t\n----\n1\n2\n\nquery I\nTABLE t",
			[]string{"CREATE TABLE t (a int)", "?SELECT a\nFROM t", "?TABLE t"}},
		{"an expected error", "statement error\nSELECT x\n----\nno such column\n\nstatement ok\nSELECT 1\n", []string{"SELECT x", "SELECT 1"}},
		{"carriage returns", "statement ok\r\nSELECT 1\r\n\r\n", []string{"SELECT 1"}},
		{"loop", "loop i 0 2\n\nstatement ok\nSELECT ${i}, {i}\n\nendloop\n\nquery I\nSELECT 9\n", []string{"SELECT 0, 0", "SELECT 1, 1", "?SELECT 9"}},
		{"foreach", "foreach t <integral> \"x y\"\n\nquery I\nSELECT {t}\n\nendloop\n",
			[]string{"?SELECT smallint", "?SELECT integer", "?SELECT bigint", "?SELECT x", "?SELECT y"}},
		{"several variables", "foreach a,b 1,2 3,4\n\nquery I\nSELECT {a}, {b}\n\nendloop\n", []string{"?SELECT 1, 2", "?SELECT 3, 4"}},
		{"nested loops", "loop i 0 2\nforeach s x y\nstatement ok\nSELECT '{s}{i}'\n\nendloop\nendloop\n",
			[]string{"SELECT 'x0'", "SELECT 'y0'", "SELECT 'x1'", "SELECT 'y1'"}},
		{"no turn", "loop i 3 3\nstatement ok\nSELECT 1\n\nendloop\nstatement ok\nSELECT 2\n", []string{"SELECT 2"}},
		{"systems", "skipif postgresql\nstatement ok\nSELECT 1\n\nonlyif mysql\nstatement ok\nSELECT 2\n\nskipif mysql\nstatement ok\nSELECT 3\n", []string{"SELECT 3"}},
		{"conditions", "loop i 0 3\nonlyif i=1\nstatement ok\nSELECT {i}\n\nskipif i=1\nstatement ok\nSELECT 10 + {i}\n\nendloop\n",
			[]string{"SELECT 10 + 0", "SELECT 1", "SELECT 10 + 2"}},
		{"modes", "mode skip\nstatement ok\nSELECT 1\n\nmode unskip\nstatement ok\nSELECT 2\n", []string{"SELECT 2"}},
		{"halt", "statement ok\nSELECT 1\n\nhalt\n\nstatement ok\nSELECT 2\n", []string{"SELECT 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sql(t, c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	records, err := Parse("\n\nquery I\nSELECT 1\n----\n1\n")
	if err != nil || len(records) != 1 || records[0].Line != 4 {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestBounded(t *testing.T) {
	records, err := Parse("loop i 0 1000000000\nstatement ok\nSELECT 1\n\nendloop\n")
	if err != nil || len(records) != maxRecords {
		t.Errorf("%d records, %v", len(records), err)
	}
}

func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"loop i 0 2\nstatement ok\nSELECT 1\n": "no endloop",
		"\nendloop\n":                          "line 2: endloop without a loop",
		"loop i x 2\n\nendloop\n":              "invalid syntax",
		"loop\n":                               "no variable",
		"loop i 0\n":                           "no bounds",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v instead of %q", text, err, want)
		}
	}
}
