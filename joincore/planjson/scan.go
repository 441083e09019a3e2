package planjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// checkShape scans the tokens of b once, before any structure is built. It
// rejects input that encoding/json accepts or rejects only after much work:
// invalid UTF-8, deep nesting, trailing bytes, and duplicate member names. The
// decoder compares names without regard to case, also beyond ASCII: names may
// have no character that another one is equal to.
func checkShape(b []byte) error {
	if len(b) > MaxBytes {
		return fmt.Errorf("%w: has %d bytes, may have at most %d", ErrMalformed, len(b), MaxBytes)
	}
	if !utf8.Valid(b) {
		return fmt.Errorf("%w: not valid UTF-8", ErrMalformed)
	}
	type level struct {
		object bool
		key    bool // the next string is a member name
		names  map[string]struct{}
	}
	var stack []level
	objects := 0
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	for first := true; first || len(stack) > 0; first = false {
		tok, err := dec.Token()
		if err != nil {
			return fmt.Errorf("%w: %v", ErrMalformed, err)
		}
		if n := len(stack); n > 0 && stack[n-1].object {
			top := &stack[n-1]
			if name, ok := tok.(string); ok && top.key {
				if strings.ContainsFunc(name, foreign) {
					return fmt.Errorf("%w: unknown member %q", ErrMalformed, name)
				}
				if _, dup := top.names[name]; dup {
					return fmt.Errorf("%w: member %q occurs twice", ErrMalformed, name)
				}
				top.names[name] = struct{}{}
				top.key = false
				continue
			}
			top.key = true // tok is, or opens, the member's value
		}
		d, ok := tok.(json.Delim)
		if !ok {
			continue
		}
		switch d {
		case '{':
			if objects++; objects > MaxObjects {
				return fmt.Errorf("%w: more than %d objects", ErrMalformed, MaxObjects)
			}
			stack = append(stack, level{object: true, key: true, names: map[string]struct{}{}})
		case '[':
			stack = append(stack, level{})
		default:
			stack = stack[:len(stack)-1]
		}
		if len(stack) > MaxDepth {
			return fmt.Errorf("%w: nested deeper than %d", ErrMalformed, MaxDepth)
		}
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: bytes after the end", ErrMalformed)
	}
	return nil
}

// foreign reports whether a character occurs in no member's name: those consist of
// lower-case ASCII.
func foreign(c rune) bool { return c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' }
