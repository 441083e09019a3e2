package cpu

import (
	"math/rand/v2"
	"testing"
)

// TestPartsOfPatterns: patterns without single wildcards match as the general method says.
func TestPartsOfPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const alphabet = "aab%"
	matched := 0
	for range 20000 {
		var p []element
		for range random.IntN(7) {
			if c := alphabet[random.IntN(len(alphabet))]; c != '%' {
				p = append(p, element(c))
			} else if len(p) == 0 || p[len(p)-1] != anyText {
				p = append(p, anyText)
			}
		}
		text := make([]byte, random.IntN(9))
		for i := range text {
			text[i] = alphabet[random.IntN(3)]
		}
		want := (&general{p, true}).match(text)
		if got := matcher(p, true).each([][]byte{nil, text})>>1 == 1; got != want {
			t.Fatalf("%q like %x: %v, want %v", text, p, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("%d texts match", matched)
	}
}
