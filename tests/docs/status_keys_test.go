package docs

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpujoin/sidecar"
)

// status.md explains every key of the daemon's status, and no other.
func TestStatusKeys(t *testing.T) {
	code := keysOf(reflect.TypeFor[sidecar.Status](), "", map[reflect.Type]bool{})
	page := all("`([^`]+)`", strings.Join(all(`(?m)^\| (`+"`"+`[^|]+) \|`, read(t, "docs", "internals", "status.md")), "\n"))
	for _, key := range code {
		if !slices.Contains(page, key) {
			t.Errorf("status.md does not explain %s", key)
		}
	}
	for i, key := range page {
		if !slices.Contains(code, key) {
			t.Errorf("the status has no key %s", key)
		}
		if slices.Contains(page[:i], key) {
			t.Errorf("status.md explains %s twice", key)
		}
	}
	if len(code) < 100 {
		t.Errorf("found only %v", code)
	}
}

// keysOf returns the keys of a type's JSON that have no keys below them, and those of objects whose
// type was met before. [] follows the name of a list of objects, {} that of an object with any names.
func keysOf(kind reflect.Type, at string, met map[reflect.Type]bool) (keys []string) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		name, inner := at+name, field.Type
		switch {
		case inner.Kind() == reflect.Map:
			name += "{}"
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			name, inner = name+"[]", inner.Elem()
		}
		if inner.Kind() == reflect.Struct && !met[inner] {
			met[inner] = true
			keys = append(keys, keysOf(inner, name+".", met)...)
		} else {
			keys = append(keys, name)
		}
	}
	return keys
}
