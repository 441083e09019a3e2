package suite

import (
	"fmt"
	"reflect"
	"strings"
)

// Show writes a node, condition or value of a plan in the syntax of Go.
func Show(x any) string {
	var b strings.Builder
	show(&b, reflect.ValueOf(x))
	return b.String()
}

func show(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil")
	case reflect.Interface, reflect.Pointer:
		show(b, v.Elem())
	case reflect.Struct:
		b.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(v.Type().Field(i).Name + ": ")
			show(b, v.Field(i))
		}
		b.WriteString("}")
	case reflect.Slice:
		if text, ok := v.Interface().([]byte); ok {
			fmt.Fprintf(b, "%q", text)
			return
		}
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			show(b, v.Index(i))
		}
		b.WriteString("]")
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}
