package columnartest

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Layout compares a struct with the one of that name in a kernels' header: both must
// consist of the same 8-byte fields in the same order. Names may differ in case and
// underscores.
func Layout(t *testing.T, header, name string, mirror any) {
	t.Helper()
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(string(text)).fields(name, "")
	if err != nil {
		t.Fatalf("%s: %v", header, err)
	}
	got := mirrorFields(reflect.TypeOf(mirror), "")
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s: field %d is %s in place of %s", name, i, got[i], want[i])
			}
		}
		t.Fatalf("%s has %d fields in place of %d", name, len(got), len(want))
	}
}

// declarations are a header's structs and constants by name.
type declarations struct {
	structs   map[string][]declaration
	constants map[string]int
}

type declaration struct {
	kind, name string
	count      string // of array elements; "": not an array
}

var (
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	constant  = regexp.MustCompile(`(?m)^#define (\w+) (\d+)`)
	structure = regexp.MustCompile(`(?s)typedef struct \{(.*?)\} (\w+);`)
	array     = regexp.MustCompile(`^(\w+)(?:\[(\w+)\])?$`)
)

func parse(text string) declarations {
	d := declarations{structs: map[string][]declaration{}, constants: map[string]int{}}
	text = comment.ReplaceAllString(text, "")
	for _, m := range constant.FindAllStringSubmatch(text, -1) {
		d.constants[m[1]], _ = strconv.Atoi(m[2])
	}
	for _, m := range structure.FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(m[1], ";") {
			kind, names, _ := strings.Cut(strings.TrimSpace(line), " ")
			for _, n := range strings.Split(names, ",") {
				if a := array.FindStringSubmatch(strings.TrimSpace(n)); a != nil {
					d.structs[m[2]] = append(d.structs[m[2]], declaration{kind, a[1], a[2]})
				}
			}
		}
	}
	return d
}

// fields returns the paths of a struct's 8-byte fields.
func (d declarations) fields(name, path string) (paths []string, err error) {
	fields, ok := d.structs[name]
	if !ok {
		return nil, fmt.Errorf("no struct %s", name)
	}
	for _, f := range fields {
		elements := []string{""}
		if f.count != "" {
			n, ok := d.constants[f.count]
			if !ok {
				if n, err = strconv.Atoi(f.count); err != nil {
					return nil, err
				}
			}
			elements = elements[:0]
			for i := range n {
				elements = append(elements, fmt.Sprintf("[%d]", i))
			}
		}
		for _, e := range elements {
			at := path + "." + strings.ReplaceAll(f.name, "_", "") + e
			if f.kind == "uint64_t" {
				paths = append(paths, at)
				continue
			}
			inner, err := d.fields(f.kind, at)
			if err != nil {
				return nil, err
			}
			paths = append(paths, inner...)
		}
	}
	return paths, nil
}

func mirrorFields(t reflect.Type, path string) (paths []string) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			paths = append(paths, mirrorFields(t.Field(i).Type, path+"."+strings.ToLower(t.Field(i).Name))...)
		}
		return paths
	case reflect.Array:
		for i := range t.Len() {
			paths = append(paths, mirrorFields(t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return paths
	case reflect.Uint64:
		return []string{path}
	}
	return []string{path + ", which has not 8 bytes"}
}
