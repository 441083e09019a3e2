package oracle

import (
	"unicode/utf8"

	"gpujoin/joincore"
)

// characters cuts text into its characters. What is no character of UTF-8
// takes the bytes that continue it along, as joincore.UTF8 says.
func characters(text []byte, e joincore.Encoding) [][]byte {
	var out [][]byte
	for i, b := range text {
		if i > 0 && e == joincore.UTF8 && !utf8.RuneStart(b) {
			out[len(out)-1] = text[i-len(out[len(out)-1]) : i+1]
			continue
		}
		out = append(out, text[i:i+1])
	}
	return out
}

// like compares text with a pattern of LIKE, character by character.
func like(text, pattern [][]byte) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch first := string(pattern[0]); first {
	case "%":
		return like(text, pattern[1:]) || len(text) > 0 && like(text[1:], pattern)
	case "_":
		return len(text) > 0 && like(text[1:], pattern[1:])
	case `\`:
		pattern = pattern[1:]
	}
	return len(text) > 0 && string(text[0]) == string(pattern[0]) && like(text[1:], pattern[1:])
}

// substring returns characters from to from+n-1, counted from 1; n < 0: to the
// end.
func substring(text [][]byte, from, n int) []byte {
	out := []byte{}
	for i, c := range text {
		at := i + 1
		if at >= from && (n < 0 || at-from < n) {
			out = append(out, c...)
		}
	}
	return out
}
