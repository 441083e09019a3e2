package textcodes

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gpujoin/joincore"
)

// describe returns a text of a value over columns of one input that is the same for the same
// value over the same kinds of columns, whatever their numbers and those of parameters are, and
// for no other value; and the columns in the order in which the text numbers them.
func describe(v joincore.Value, columns []joincore.Column, parameters []joincore.Parameter) (text string, sources []int) {
	d := &description{columns: columns, parameters: parameters}
	d.write(reflect.ValueOf(&v).Elem())
	for _, c := range d.sources {
		fmt.Fprintf(&d.text, "; %+v", columns[c])
	}
	return d.text.String(), d.sources
}

// description is a text under construction.
type description struct {
	text       strings.Builder
	columns    []joincore.Column
	parameters []joincore.Parameter
	sources    []int
}

// write writes a part of a term with its type: strings and lists with their lengths, so that no
// two terms have one text.
func (d *description) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			d.text.WriteString("nil")
			return
		}
		d.write(v.Elem())
		return
	}
	if v.CanInterface() {
		switch t := v.Interface().(type) {
		case joincore.ColumnRef:
			at := slices.Index(d.sources, t.Column)
			if at < 0 {
				at = len(d.sources)
				d.sources = append(d.sources, t.Column)
			}
			fmt.Fprintf(&d.text, "column %d", at)
			return
		case joincore.ParameterIndex:
			fmt.Fprintf(&d.text, "parameter %+v", d.parameters[t])
			return
		}
	}
	fmt.Fprintf(&d.text, "%s", v.Type())
	switch v.Kind() {
	case reflect.Struct:
		d.text.WriteByte('{')
		for i := range v.NumField() {
			d.write(v.Field(i))
			d.text.WriteByte(',')
		}
		d.text.WriteByte('}')
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(&d.text, "%d[", v.Len())
		for i := range v.Len() {
			d.write(v.Index(i))
			d.text.WriteByte(',')
		}
		d.text.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(&d.text, "%q", v.String())
	default:
		fmt.Fprintf(&d.text, "(%v)", v)
	}
}
