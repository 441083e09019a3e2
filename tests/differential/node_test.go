package differential

import (
	"strings"
	"testing"
)

// A query shrinks to what the condition needs, also in a part that it has twice.
func TestReduce(t *testing.T) {
	key := text("int", "(%s + %s)", text("int", "a"), text("int", "b * c"))
	query := text("", "select %s from %s%s%s", list("", ", ", "", 1, key, text("int", "count(*)")),
		text("from", "(%s join %s on a = b)", text("from", "t"), text("from", "(select * from u)")),
		list(" where ", " and ", "", 0, text("condition", "(%s or %s)", text("condition", "x"), text("condition", "zero"))),
		list(" group by ", ", ", "", 0, key))
	for _, c := range []struct {
		needs []string
		want  string
	}{
		{nil, "select a from t"},
		{[]string{"b * c", "zero"}, "select b * c from t where zero"},
		{[]string{"group by b", " u"}, "select b * c from (select * from u) group by b * c"},
	} {
		q := query.clone(map[*Node]*Node{})
		q.Reduce(func() bool {
			for _, part := range c.needs {
				if !strings.Contains(q.String(), part) {
					return false
				}
			}
			return true
		})
		if q.String() != c.want {
			t.Errorf("%q: %s instead of %s", c.needs, q, c.want)
		}
	}
}

// clone copies a query, in which parts that occur twice still do.
func (n *Node) clone(known map[*Node]*Node) *Node {
	if known[n] == nil {
		c := *n
		known[n] = &c
		c.children = nil
		for _, child := range n.children {
			c.children = append(c.children, child.clone(known))
		}
		known[n].children = c.children
	}
	return known[n]
}

// A seed stands for the same tables and queries each time.
func TestSeed(t *testing.T) {
	draw := func(seed uint64) string {
		g := New(seed)
		s := g.Schema(5, true)
		for _, table := range g.Tables {
			s += g.Data(table)
		}
		return s + g.Query().String() + strings.Join(g.Settings(), ";")
	}
	first, again := draw(1), draw(1)
	if first != again {
		t.Error("seed 1 draws different queries")
	}
	if first == draw(2) {
		t.Error("seeds 1 and 2 draw the same queries")
	}
}
