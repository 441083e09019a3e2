//go:build cuda

package bench

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpujoin/joincore"
)

// grouping is a case of a filter and an aggregate:
// SELECT k, count(*), sum(v) FROM t WHERE f >= 0 GROUP BY k, of which half of the rows
// pass.
type grouping struct {
	name      string
	rows      int64
	groups    int64    // 0: no key
	keys      []int    // bytes of each key: 4 or 8, all of the same width and value
	functions []string // behind count(*)
	nulls     bool     // one of 256 values is NULL
	unused    bool     // there is no filter
	zipf      float64  // exponent of the keys' distribution, 0: uniform
}

// groupings are the default cases.
func groupings() []grouping {
	c := func(name string, groups int64) grouping {
		g := grouping{name: name, rows: 1 << 28, groups: groups, keys: []int{4}, functions: []string{"sum"}}
		if groups == 0 {
			g.keys = nil
		}
		return g
	}
	return []grouping{c("groups-4", 4), c("groups-2^10", 1<<10), c("groups-2^20", 1<<20), c("one group", 0)}
}

// Columns of the input: the key, the value, what is filtered by, and what says whether
// the value is NULL.
const (
	keyColumn = iota
	valueColumn
	filterColumn
	validityColumn
)

// widths returns the bytes of each column.
func (c *grouping) widths() []int {
	w := []int{4, 8, 4, 1}
	if len(c.keys) > 0 {
		w[keyColumn] = c.keys[0]
	}
	if !c.nulls {
		w = w[:validityColumn]
	}
	return w
}

// rowBytes returns the bytes of a row that are read.
func (c *grouping) rowBytes() int64 {
	read := []bool{len(c.keys) > 0, len(c.functions) > 0, !c.unused || slices.Contains(c.functions, "product"), true}
	n := 0
	for i, w := range c.widths() {
		if read[i] {
			n += w
		}
	}
	return int64(n)
}

// summed says whether the sum of the values comes behind the count.
func (c *grouping) summed() bool {
	return len(c.functions) > 0 && c.functions[0] == "sum" && !c.nulls && !c.unused
}

func columnRef(i int) joincore.Value { return joincore.ColumnRef{Column: i} }

func (c *grouping) where() joincore.Expr {
	if c.unused {
		return nil
	}
	return &joincore.Compare{Op: joincore.GreaterEqual, Left: columnRef(filterColumn), Right: joincore.Int(0)}
}

// functionsOf are the aggregates by name. A product's sum has 128 bits.
var functionsOf = map[string]joincore.Function{
	"count": {Kind: joincore.Count, Arg: columnRef(valueColumn)},
	"sum":   {Kind: joincore.Sum, Arg: columnRef(valueColumn)},
	"min":   {Kind: joincore.Min, Arg: columnRef(valueColumn)},
	"max":   {Kind: joincore.Max, Arg: columnRef(valueColumn)},
	"small": {Kind: joincore.Sum, Arg: columnRef(filterColumn)},
	"product": {Kind: joincore.Sum, Arg: &joincore.Arithmetic{
		Op: joincore.Multiply, Width: 16, Left: columnRef(valueColumn), Right: columnRef(filterColumn)}},
}

func (c *grouping) aggregate() *joincore.Aggregate {
	a := &joincore.Aggregate{Functions: []joincore.Function{{Kind: joincore.Count}}}
	for range c.keys {
		a.Keys = append(a.Keys, columnRef(keyColumn))
	}
	for _, name := range c.functions {
		a.Functions = append(a.Functions, functionsOf[name])
	}
	return a
}

// customGroups adds the flag that adds cases, and returns what to call for them.
func customGroups(f *flag.FlagSet) func() []grouping {
	var list []grouping
	f.Func("group-case", "also time a filter with an aggregate: `GROUPS`[,keys=4+4][,functions=sum+min][,nulls][,all][,zipf=1.0][,rows=N]; may be repeated;\n"+
		"keys have 4 or 8 bytes, functions are count, sum, min, max, small (4 bytes) and product (128 bits), all: no filter", func(text string) error {
		c, err := parseGrouping(text)
		list = append(list, c)
		return err
	})
	return func() []grouping { return list }
}

func parseGrouping(text string) (grouping, error) {
	c := grouping{name: text, rows: 1 << 28, keys: []int{4}, functions: []string{"sum"}}
	parts := strings.Split(text, ",")
	var err error
	if c.groups, err = strconv.ParseInt(parts[0], 10, 64); err != nil || c.groups < 0 {
		return c, fmt.Errorf("%q is no number of groups", parts[0])
	}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "keys":
			c.keys = nil
			for _, w := range strings.Split(value, "+") {
				n, err := strconv.Atoi(w)
				if err != nil || n != 4 && n != 8 || len(c.keys) > 0 && n != c.keys[0] {
					return c, fmt.Errorf("%q: keys have 4 or 8 bytes, all of them the same", value)
				}
				c.keys = append(c.keys, n)
			}
		case "functions":
			c.functions = nil
			for _, f := range strings.Split(value, "+") {
				if _, ok := functionsOf[f]; !ok && f != "" {
					return c, fmt.Errorf("no function is named %q", f)
				}
				if f != "" {
					c.functions = append(c.functions, f)
				}
			}
		case "nulls":
			c.nulls = true
		case "all":
			c.unused = true
		case "zipf":
			if c.zipf, err = strconv.ParseFloat(value, 64); err != nil {
				return c, fmt.Errorf("%q is no exponent", value)
			}
		case "rows":
			if c.rows, err = strconv.ParseInt(value, 10, 64); err != nil || c.rows < 1 {
				return c, fmt.Errorf("%q is no number of rows", value)
			}
		default:
			return c, fmt.Errorf("%q is not known", part)
		}
	}
	if c.groups == 0 {
		c.keys = nil
	}
	return c, nil
}
