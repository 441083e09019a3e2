package joincore_test

import (
	"reflect"
	"slices"
	"testing"

	"gpujoin/joincore"
)

// everything is a condition with every type of condition and value.
func everything() joincore.Expr {
	c := func(i int) joincore.ColumnRef { return joincore.ColumnRef{Input: i, Column: 2 * i} }
	return &joincore.And{Args: []joincore.Expr{
		&joincore.Or{Args: []joincore.Expr{
			&joincore.Not{Arg: &joincore.Compare{Op: joincore.Less, Left: c(0), Right: joincore.Int(7)}},
			&joincore.IsNull{Arg: joincore.Decimal{Column: c(1)}},
		}},
		&joincore.In{Arg: &joincore.Arithmetic{Op: joincore.Add, Width: 4, Left: c(2), Right: joincore.ParameterIndex(0)}, Ints: []int64{1}},
		&joincore.Like{Arg: &joincore.Substring{Arg: c(3), From: 1, For: 2, Characters: joincore.UTF8}, Pattern: []byte("a%"), Encoding: joincore.UTF8},
		&joincore.Compare{
			Op: joincore.Equal,
			Left: &joincore.Case{
				Whens: []joincore.When{{Condition: &joincore.IsNull{Arg: c(4)}, Then: &joincore.DatePart{Part: joincore.Year, Arg: c(5)}}},
				Else:  joincore.Null{Width: 4},
			},
			Right: &joincore.Coalesce{Args: []joincore.Value{&joincore.Truth{Arg: &joincore.IsNull{Arg: c(6)}}, &joincore.Text{}}},
		},
	}}
}

// TestMapReachesEveryColumn: a condition with other columns is otherwise the same one, and the
// original stays as it is.
func TestMapReachesEveryColumn(t *testing.T) {
	shift := func(by int) func(joincore.ColumnRef) joincore.ColumnRef {
		return func(c joincore.ColumnRef) joincore.ColumnRef {
			return joincore.ColumnRef{Input: c.Input + by, Column: c.Column + 3*by}
		}
	}
	e := everything()
	shifted := joincore.MapColumns(e, shift(10))
	want := joincore.Columns(everything())
	if len(want) != 7 {
		t.Fatalf("%d columns", len(want))
	}
	for i := range want {
		want[i] = shift(10)(want[i])
	}
	if got := joincore.Columns(shifted); !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	back := joincore.MapColumns(shifted, shift(-10))
	if !reflect.DeepEqual(back, everything()) || !reflect.DeepEqual(e, everything()) {
		t.Errorf("changed: %+v", back)
	}
	if none := joincore.MapColumns(joincore.Expr(nil), shift(1)); none != nil {
		t.Errorf("of nothing: %v", none)
	}
}
