package encode

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// testdata/stored.txt has values of all types that a server has sent (COPY BINARY) and stored
// (heap_page_item_attrs). The encoded value has the stored bytes, and zeros behind them.
func TestValuesAreThoseOnDisk(t *testing.T) {
	text, err := os.ReadFile("testdata/stored.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name, sentText, storedText string
		var oid uint32
		var length int
		if _, err := fmt.Sscan(line, &name, &oid, &length, &sentText, &storedText); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sent, err1 := hex.DecodeString(strings.Trim(sentText, "-"))
		stored, err2 := hex.DecodeString(storedText)
		e, err3 := New(Type{OID: oid})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got, err := e.Append(nil, sent)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if length > 0 { // the page pads it up to the next value, with anything
			stored = stored[:length]
		} else if want, err := joincore.TextPayload(stored); err == nil && stored[0]&1 == 0 && len(want) <= 126 {
			stored = append([]byte{byte(1+len(want))<<1 | 1}, want...) // of plain storage
		}
		if !bytes.HasPrefix(got, stored) || slices.ContainsFunc(got[len(stored):], func(b byte) bool { return b != 0 }) {
			t.Errorf("%s %s:\n%x, want\n%x", name, sentText, got, stored)
		}
		n++
	}
	if n < 90 {
		t.Errorf("only %d values", n)
	}
}

// FuzzAppend checks that whatever is taken for a value has the column's form.
func FuzzAppend(f *testing.F) {
	for i, c := range encoders {
		for _, v := range c.values {
			f.Add(i, unhex(f, v[0]))
		}
	}
	f.Fuzz(func(t *testing.T, which int, sent []byte) {
		c := encoders[uint(which)%uint(len(encoders))]
		e, err := New(c.t)
		if err != nil {
			t.Fatal(err)
		}
		refuseParts(t, e, append(sent, 0)) // all parts of it, and all of sent
	})
}
