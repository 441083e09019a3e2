package shm

import "testing"

// TestPutText: the text is always printable.
func TestPutText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "cuda": "cuda", "1234567": "1234567", "12345678": "1234567",
		"nö": "n?", "ööööööööö": "???????", "a\x00b\x1b": "a?b?", "\xff~ ": "?~ ",
	} {
		b := []byte("????????")
		PutText(b, text)
		if got := Text(b); got != want || b[len(b)-1] != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}
