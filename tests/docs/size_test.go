package docs

import (
	"strings"
	"testing"
	"unicode"
)

// What the users' pages may have: one can be read at a sitting, all of them in an afternoon.
const (
	mostLines = 250 // of a page
	mostWords = 25_000
)

// The users' pages stay short.
func TestPagesAreShort(t *testing.T) {
	users, _ := pages(t)
	total := 0
	for _, page := range users {
		text := read(t, page)
		if lines := strings.Count(text, "\n"); lines >= mostLines {
			t.Errorf("%s has %d lines", page, lines)
		}
		n := words(text)
		total += n
		t.Logf("%6d words in %s", n, page)
	}
	if total > mostWords {
		t.Errorf("all pages together have %d words", total)
	}
}

// words counts what a reader reads: the bars of tables and the fences of code are none.
func words(text string) int {
	n := 0
	for _, field := range strings.Fields(text) {
		if strings.IndexFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			n++
		}
	}
	return n
}
