package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// ErrUnknown: the bytes begin like no structure of this layout.
var ErrUnknown = errors.New("not a batch, an extent of a chain, a filter or a status file")

// Dump prints an extent or a status file, and at most the given number of rows of a
// batch.
func Dump(w io.Writer, b []byte, rows int) error {
	if len(b) < 4 {
		return ErrShort
	}
	switch binary.LittleEndian.Uint32(b) {
	case BatchMagic:
		return dumpBatch(w, b, rows)
	case ChainMagic:
		h, data, err := ReadChainExtent(b)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "extent of a chain %s\n", Describe(&h))
		_, err = fmt.Fprintf(w, "starts with % x\n", data[:min(len(data), 32)])
		return err
	case FilterMagic:
		f, err := ReadFilter(b)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "filter %s\n", Describe(&f.Header))
		return err
	case StatusMagic:
		s, err := DecodeStatus(b)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "status file %s\n", Describe(&s))
		return err
	}
	return fmt.Errorf("%w: magic %#x", ErrUnknown, binary.LittleEndian.Uint32(b))
}

// Describe formats a struct with the names of layout.h.
func Describe(v any) string {
	s := reflect.ValueOf(v)
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	var out []string
	for i := range s.NumField() {
		f := s.Type().Field(i)
		name := f.Tag.Get("c")
		switch val := s.Field(i); {
		case f.Anonymous || name == "" || name == "reserved" || name == "reserved2" || name == "magic":
		case f.Type.Kind() == reflect.Struct:
			out = append(out, fmt.Sprintf("%s={%s}", name, Describe(val.Interface())))
		case f.Type.Kind() == reflect.Array && f.Type.Elem().Kind() == reflect.Uint8 && name == "token":
			out = append(out, name+"=<secret>")
		case f.Type == reflect.TypeFor[Bitmap]():
			bitmap := val.Interface().(Bitmap)
			out = append(out, fmt.Sprintf("%s=<%d blocks>", name, bitmap.Count()))
		case f.Type.Kind() == reflect.Array && f.Type.Elem().Kind() == reflect.Uint8:
			text := make([]byte, val.Len())
			reflect.Copy(reflect.ValueOf(text), val)
			out = append(out, fmt.Sprintf("%s=%q", name, Text(text)))
		default:
			out = append(out, fmt.Sprintf("%s=%v", name, val.Interface()))
		}
	}
	return strings.Join(out, " ")
}

func dumpBatch(w io.Writer, b []byte, rows int) error {
	v, err := ReadBatch(b, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "batch rows=%d columns=%d used=%d\n", v.Rows, len(v.Columns), v.Used)
	for i := range v.Columns {
		c := &v.Columns[i]
		fmt.Fprintf(w, "column %d: %s nulls=%d heap=%d\n", i, c.Shape, c.Nulls, len(c.Heap))
	}
	for r := range min(rows, v.Rows) {
		fmt.Fprintf(w, "row %d:", r)
		for i := range v.Columns {
			fmt.Fprintf(w, " %s", v.Columns[i].text(r))
		}
		fmt.Fprintln(w)
	}
	if v.Rows > rows {
		fmt.Fprintf(w, "... %d more\n", v.Rows-rows)
	}
	return nil
}

// text formats the value of a row: integers as numbers, all else as bytes.
func (c *ColumnView) text(row int) string {
	if c.Validity != nil && c.Validity[row/8]&(1<<(row%8)) == 0 {
		return "NULL"
	}
	if c.Shape.Encoding == EncVarlena {
		from := binary.LittleEndian.Uint32(c.Values[4*row:])
		to := binary.LittleEndian.Uint32(c.Values[4*row+4:])
		if from > to || int64(to) > int64(len(c.Heap)) {
			return "<out of range>"
		}
		return varlenaText(c.Heap[from:to])
	}
	v := c.Values[row*int(c.Shape.Width):]
	switch c.Shape.Width {
	case 1:
		return fmt.Sprint(int8(v[0]))
	case 2:
		return fmt.Sprint(int16(binary.LittleEndian.Uint16(v)))
	case 4:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(v)))
	case 8:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(v)))
	}
	return fmt.Sprintf("%x", v[:c.Shape.Width])
}

// varlenaText formats a value with PostgreSQL's header, truncated.
func varlenaText(v []byte) string {
	if ref, _, err := DecodePrefix[ChainRef](v); err == nil && ref.Header == ChainRefByte && ref.Tag == ChainRefTag {
		return fmt.Sprintf("<chained: %s>", Describe(&ref))
	}
	const most = 40
	if len(v) > most {
		return fmt.Sprintf("%q... (%d bytes)", v[:most], len(v))
	}
	return fmt.Sprintf("%q", v)
}

// describe formats the body of a message.
func describe[T Struct](body []byte) (string, error) {
	v, rest, err := DecodePrefix[T](body)
	if err != nil {
		return "", err
	}
	text := Describe(&v)
	if len(rest) > 0 {
		text += fmt.Sprintf(" and %d bytes", len(rest))
	}
	return text, nil
}

// DescribeFrame formats a frame on one line, without the job of OPEN, the
// status and the token.
func DescribeFrame(b []byte) (string, error) {
	f, err := ParseFrame(b)
	if err != nil {
		return "", err
	}
	body := b[FrameSize:len(b):len(b)]
	if int64(f.Length) != int64(len(body)) {
		return "", fmt.Errorf("%w: %s of %d bytes in %d", ErrFrameLength, f.Type, f.Length, len(body))
	}
	text := f.Type.String()
	if f.NFDs > 0 {
		text += fmt.Sprintf(" (%d fds)", f.NFDs)
	}
	if f.Type == MsgFailed {
		code, reason, err := DecodeFailed(body)
		return fmt.Sprintf("%s %s: %s", text, code, reason), err
	}
	if d := shapes[f.Type].describe; d != nil {
		detail, err := d(body)
		return text + " " + detail, err
	}
	if len(body) > 0 {
		text += fmt.Sprintf(" %d bytes", len(body))
	}
	return text, nil
}
