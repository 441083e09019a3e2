package arch

import (
	"reflect"
	"testing"
)

func TestTable(t *testing.T) {
	got, err := Layers("# x\n| a | b |\n|---|---|\n| c | d |\n\n" +
		"| package or folder | for | may use | must not |\n|---|---|---|---|\n" +
		"| `top` | all | `low`, `low/er` | cgo |\n| `low` | some | - | cgo, net |\n\ntext\n")
	want := []Layer{
		{Name: "top", May: []string{"low", "low/er"}, MustNot: []string{"cgo"}},
		{Name: "low", MustNot: []string{"cgo", "net"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Layers = %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "| package or folder | for | may use | must not |\n|---|---|---|---|\n| `a` | b |\n"} {
		if layers, err := Layers(bad); err == nil {
			t.Errorf("Layers(%q) = %v without an error", bad, layers)
		}
	}
}

func TestBreaks(t *testing.T) {
	for _, c := range []struct {
		p          goPackage
		path, rule string
		want       bool
	}{
		{goPackage{Standard: true}, "net/http", "net", true},
		{goPackage{Standard: true, Imports: []string{"unsafe"}}, "sync", "unsafe", false},
		{goPackage{Imports: []string{"unsafe"}}, "example.org/x", "unsafe", true},
		{goPackage{CgoFiles: []string{"a.go"}}, "example.org/x", "cgo", true},
		{goPackage{Standard: true, CgoFiles: []string{"a.go"}}, "runtime/cgo", "cgo", false},
		{goPackage{}, "example.org/internet", "net", false},
	} {
		if got := breaks(c.p, c.path, c.rule); got != c.want {
			t.Errorf("breaks(%s, %s) = %v", c.path, c.rule, got)
		}
	}
}
