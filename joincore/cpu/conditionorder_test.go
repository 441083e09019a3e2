package cpu

import (
	"testing"

	"gpujoin/joincore"
)

// What costs least is decided first, unless an argument can fail: then the order of the query
// decides which rows it is evaluated for.
func TestCheapConditionsFirst(t *testing.T) {
	column := func(c int) joincore.Value { return joincore.ColumnRef{Column: c} }
	text := &joincore.In{Arg: column(0), Texts: [][]byte{[]byte("MAIL")}}
	like := &joincore.Like{Arg: column(0), Pattern: []byte("a%")}
	columns := &joincore.Compare{Op: joincore.Less, Left: column(1), Right: column(2)}
	word := &joincore.Compare{Op: joincore.Less, Left: column(1), Right: joincore.Int(7)}
	divided := &joincore.Compare{Op: joincore.Less, Right: joincore.Int(7), Left: &joincore.Arithmetic{
		Op: joincore.Divide, Left: column(1), Right: column(2), Width: 8,
	}}
	costs := func(args ...joincore.Expr) (out []int) {
		for _, a := range newLogic(compileAll(args, nil), true).args {
			out = append(out, costOf(a.condition))
		}
		return out
	}
	for name, c := range map[string]struct {
		args []joincore.Expr
		want []int
	}{
		"reordered":    {[]joincore.Expr{text, columns, like, word}, []int{costWord, costValue, costText, costText}},
		"one can fail": {[]joincore.Expr{text, divided, word}, []int{costText, costValue, costWord}},
		"none":         {nil, nil},
	} {
		got := costs(c.args...)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", name, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}
