package phj

import (
	"os"
	"strings"
	"testing"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/kernels"
)

// kernelList is the kernels that kernels/entry/fused.inc builds, by words of the key.
type kernelList struct {
	pairs    map[int]map[[2]string]bool // payload shapes with a match
	listed   map[int]map[[2]string]bool // those that also have a match with a match list
	bypasses map[int]map[[2]string]bool // those with a bypass
	first    map[string]bool            // kernels of first passes
	cold     map[int]map[string]bool    // shapes with a first pass that skips bypassed rows
	second   map[string]bool            // kernels of second passes
}

func noKernels() kernelList {
	pairs := func() map[int]map[[2]string]bool { return map[int]map[[2]string]bool{1: {}, 2: {}} }
	names := func() map[int]map[string]bool { return map[int]map[string]bool{1: {}, 2: {}} }
	return kernelList{pairs: pairs(), listed: pairs(), bypasses: pairs(), first: map[string]bool{}, cold: names(), second: map[string]bool{}}
}

// built expands the macros of fused.inc into the kernels that they name.
func built(t *testing.T) kernelList {
	t.Helper()
	text, err := os.ReadFile("../../kernels/entry/fused.inc")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\\\n", ""), "\n")
	macros := map[string][2]string{} // name: parameters, body
	k := noKernels()
	var expand func(call string)
	expand = func(call string) {
		for call = strings.TrimSpace(call); call != ""; call = strings.TrimSpace(call) {
			open, end := strings.Index(call, "("), strings.Index(call, ")")
			if open < 0 || end < open {
				t.Fatalf("no call: %q", call)
			}
			name, args := call[:open], strings.Split(call[open+1:end], ",")
			call = call[end+1:]
			for i := range args {
				args[i] = strings.TrimSpace(args[i])
			}
			m, ok := macros[name]
			switch words := int(args[0][0] - '0'); {
			case name == "INNER" || name == "FETCHING":
				pair := [2]string{args[1], args[2]}
				k.pairs[words][pair] = true
				k.listed[words][pair] = name == "FETCHING"
			case name == "PACK":
				k.first["gj_pack_k"+args[0]] = true
			case name == "BYPASS":
				k.bypasses[words][[2]string{args[1], args[2]}] = true
			case name == "FIRST" || name == "FIRST_FIELDS":
				k.first["gj_first_k"+args[0]+"_"+args[1]] = true
			case name == "FIRST_UNALIGNED":
				k.first["gj_unaligned_k"+args[0]+"_"+args[1]] = true
			case name == "FIRST_BESIDE":
				k.first["gj_first_k1_"+args[0]] = true
			case name == "COLD":
				k.cold[words][args[1]] = true
			case name == "SECOND":
				k.second["gj_second_k"+args[0]+"_w"+args[1]] = true
			case name == "SECOND_OF_REST":
				k.second["gj_second_rest_w"+args[0]] = true
			case name == "PLACE":
				k.second["gj_place_k"+args[0]] = true
			case ok:
				body := m[1]
				for i, p := range strings.Split(m[0], ",") {
					body = substitute(body, strings.TrimSpace(p), args[i])
				}
				expand(body)
			}
		}
	}
	for _, line := range lines {
		if define, ok := strings.CutPrefix(line, "#define "); ok {
			name, rest, _ := strings.Cut(define, "(")
			parameters, body, _ := strings.Cut(rest, ")")
			macros[name] = [2]string{parameters, body}
		} else if line != "" && !strings.HasPrefix(line, "//") {
			expand(line)
		}
	}
	for words := 1; words <= 2; words++ {
		if len(k.pairs[words]) == 0 || len(k.first) == 0 || len(k.second) == 0 {
			t.Fatal("no kernels were found")
		}
	}
	return k
}

// substitute replaces a macro's parameter where it is a whole token.
func substitute(body, parameter, with string) string {
	var out strings.Builder
	word := func(c byte) bool {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for i := 0; i < len(body); {
		n := i
		for n < len(body) && word(body[n]) {
			n++
		}
		switch {
		case n == i:
			out.WriteByte(body[i])
			n++
		case body[i:n] == parameter:
			out.WriteString(with)
		default:
			out.WriteString(body[i:n])
		}
		i = n
	}
	return out.String()
}

// For all columns there are kernels for the shapes in which they are carried.
func TestShapesHaveKernels(t *testing.T) {
	kernels := built(t)
	payloads := [][]int{
		nil, {4}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}, {4, 4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4},
		{4, 4, 4, 4, 4, 4, 4, 4, 4}, {8}, {8, 8}, {8, 8, 8}, {8, 8, 8, 8}, {8, 8, 8, 8, 8}, {1}, {2, 1}, {1, 2, 4, 8}, {16}, {16, 16}, {16, 16, 16}, {1, 1, 1, 1, 1, 1, 1, 1}, {4, 8}, {16, 8, 4, 2, 1}, {16, 16, 16, 1},
	}
	for keyWords := 1; keyWords <= 2; keyWords++ {
		for _, build := range payloads {
			for _, probe := range payloads {
				for _, wanted := range [][2]mode{{carry, carry}, {rowID, rowID}, {carry, rowID}, {rowID, carry}, {carry, place}, {place, carry}, {place, place}, {carry, pack}, {pack, carry}, {pack, pack}, {pack, rowID}, {place, pack}} {
					s, modes := shapes(keyWords, [2][]int{build, probe}, wanted)
					m := matched(s, modes, false)
					if !kernels.pairs[keyWords][[2]string{m[0].String(), m[1].String()}] {
						t.Errorf("keys of %d words, payload %v and %v, modes %v: no kernel %s %s", keyWords, build, probe, wanted, m[0], m[1])
					}
					if fetched := m[0] == idShape || m[1] == idShape; fetched != kernels.listed[keyWords][[2]string{m[0].String(), m[1].String()}] {
						t.Errorf("keys of %d words, %s %s: fetched %t, listed %t", keyWords, m[0], m[1], fetched, !fetched)
					}
					for i, widths := range [2][]int{build, probe} {
						if !kernels.first[firstKernel(keyWords, s[i], true)] || !kernels.first[firstKernel(keyWords, s[i], false)] || !kernels.second[secondKernel(keyWords, s[i], modes[i])] {
							t.Errorf("keys of %d words, payload %v, mode %d: no passes of %s", keyWords, widths, modes[i], s[i])
						}
						if (modes[i] == rowID) != (s[i] == idShape) || modes[i] == place && !canPlace(keyWords, s[i]) {
							t.Errorf("keys of %d words, payload %v, mode %d is shaped %s", keyWords, widths, modes[i], s[i])
						}
						if (modes[i] == pack) != (s[i].form == packed) {
							t.Errorf("keys of %d words, payload %v, mode %d is shaped %s", keyWords, widths, modes[i], s[i])
						}
						if s[i].form == fields && fieldWords(widths) > s[i].words || s[i].form == columns && (4*s[i].words < sum(widths) || 4*s[i].words > sum(widths)+4) {
							t.Errorf("payload %v does not fit %s", widths, s[i])
						}
					}
				}
			}
		}
	}
}

// For every pair of sides that have a byte beside the rest of the hash there are kernels, and
// the byte is their last value, alone in its word.
func TestBesidesHaveKernels(t *testing.T) {
	kernels := built(t)
	payloads := [][]int{nil, {1}, {2}, {1, 1}, {4}, {1, 2, 1}, {1, 1, 1, 1, 1}, {4, 1}, {1, 2, 2}, {1, 1, 2, 1}, {8, 1}, repeated(9, 1), {1, 4, 8}, {8, 2, 1, 1, 1}, {2, 1, 2, 2, 2, 2, 2}, repeated(13, 1)}
	both, aligned := [2]mode{carry, carry}, [2]bool{true, true}
	for _, build := range payloads {
		for _, probe := range payloads {
			widths := [2][]int{build, probe}
			was, modes := shapes(1, widths, both)
			s, ok := besidePair(1, [2]int64{1 << 24, 1 << 25}, 12, was, modes, widths, aligned)
			saves, alike := sum(build)%4 == 1 || sum(probe)%4 == 1, sum(build) > 5 == (sum(probe) > 5) || sum(build) == 0 || sum(probe) == 0
			if want := saves && alike; ok != want {
				t.Errorf("payload %v and %v: a byte is beside the hash: %t", build, probe, ok)
			}
			if !ok {
				continue
			}
			if !kernels.pairs[1][[2]string{s[0].String(), s[1].String()}] {
				t.Errorf("payload %v and %v: no match of %s and %s", build, probe, s[0], s[1])
			}
			for i, w := range widths {
				if !kernels.first[firstKernel(1, s[i], true)] || !kernels.second[secondKernel(1, s[i], carry)] {
					t.Errorf("payload %v: no passes of %s", w, s[i])
				}
				if s[i].form != beside {
					continue
				}
				if s[i].words >= was[i].words {
					t.Errorf("payload %v: %s takes no word less than %s", w, s[i], was[i])
				}
				values := placeCarried(s[i], w)
				if last := values[len(values)-1]; w[last.column] != 1 || last.at != 4*s[i].words {
					t.Errorf("payload %v: the last value has %d bytes from %d on", w, w[last.column], last.at)
				}
			}
		}
	}
}

// Where no byte can be beside the rest of the hash, sides stay as they are.
func TestNoBesides(t *testing.T) {
	one, five, all := []int{1}, []int{4, 1}, [2]bool{true, true}
	for _, c := range []struct {
		why            string
		keyWords, bits int
		widths         [2][]int
		wanted         [2]mode
		aligned        [2]bool
		want           bool
	}{
		{"two passes", 1, 9, [2][]int{one, five}, [2]mode{}, all, true},
		{"one pass", 1, 8, [2][]int{one, five}, [2]mode{}, all, false},
		{"keys of 8 bytes", 2, 12, [2][]int{one, five}, [2]mode{}, all, false},
		{"a fetched side", 1, 12, [2][]int{one, five}, [2]mode{carry, rowID}, all, false},
		{"a packed side", 1, 12, [2][]int{one, repeated(16, 4)}, [2]mode{}, all, false},
		{"9 and 13 bytes", 1, 12, [2][]int{{8, 1}, repeated(13, 1)}, [2]mode{}, all, true},
		{"9 bytes and 5", 1, 12, [2][]int{{8, 1}, five}, [2]mode{}, all, false},
		{"9 bytes and keys alone", 1, 12, [2][]int{{8, 1}, nil}, [2]mode{}, all, true},
		{"17 bytes", 1, 12, [2][]int{{16, 1}, {16, 1}}, [2]mode{}, all, false},
		{"a wide side", 1, 12, [2][]int{one, {4, 4}}, [2]mode{}, all, false},
		{"columns anywhere", 1, 12, [2][]int{one, five}, [2]mode{}, [2]bool{true, false}, false},
		{"a second pass of few bits, the smaller side", 1, 11, [2][]int{one, {4}}, [2]mode{}, all, false},
		{"a second pass of few bits, the larger side", 1, 11, [2][]int{{4}, one}, [2]mode{}, all, true},
		{"a second pass of enough bits, the smaller side", 1, 12, [2][]int{one, {4}}, [2]mode{}, all, true},
		{"columns of 4 bytes anywhere", 1, 12, [2][]int{{4}, five}, [2]mode{}, [2]bool{false, true}, true},
		{"nothing to save", 1, 12, [2][]int{{4}, {2, 1}}, [2]mode{}, all, false},
	} {
		s, modes := shapes(c.keyWords, c.widths, c.wanted)
		got, ok := besidePair(c.keyWords, [2]int64{1 << 21, 1 << 22}, c.bits, s, modes, c.widths, c.aligned)
		if ok != c.want || !ok && got != s {
			t.Errorf("%s: %t, shapes %s and %s in place of %s and %s", c.why, ok, got[0], got[1], s[0], s[1])
		}
	}
}

// repeated returns n columns of the given width.
func repeated(n, width int) (widths []int) {
	for range n {
		widths = append(widths, width)
	}
	return widths
}

// The bypass uses only kernels that exist, and is available wherever they do.
func TestBypassesHaveKernels(t *testing.T) {
	kernels := built(t)
	payloads := [][]int{nil, {4}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}, {8}, {8, 8}, {8, 8, 8}, {8, 8, 8, 8}}
	for keyWords := 1; keyWords <= 2; keyWords++ {
		found := 0
		for _, build := range payloads {
			for _, probe := range payloads {
				a, _ := uniform(build)
				b, _ := uniform(probe)
				pair := [2]string{a.String(), b.String()}
				if want := kernels.bypasses[keyWords][pair] && kernels.cold[keyWords][pair[1]]; bypassExists(a, b) != want {
					t.Errorf("keys of %d words, payload %v and %v: kernels are there: %v", keyWords, build, probe, want)
				} else if want {
					found++
				}
			}
		}
		if found != len(kernels.bypasses[keyWords]) {
			t.Errorf("keys of %d words: %d pairs in place of %d", keyWords, found, len(kernels.bypasses[keyWords]))
		}
	}
}

// Padding is given up if it needs too much memory.
func TestFit(t *testing.T) {
	const r, s = 1 << 27, 1 << 28
	four := func(n int) (w []int) {
		for range n {
			w = append(w, 4)
		}
		return w
	}
	bytes := func(n int) (w []int) {
		for range n {
			w = append(w, 1)
		}
		return w
	}
	for _, c := range []struct {
		name         string
		v            volume
		wanted, want [2]mode
	}{
		{"2+2", volume{4, [2]int64{r, s}, [2][]int{four(2), four(2)}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"4+4", volume{4, [2]int64{r, s}, [2][]int{four(4), four(4)}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"places of few matches", volume{4, [2]int64{r, s}, [2][]int{four(2), four(2)}, s / 4}, [2]mode{carry, place}, [2]mode{carry, place}},
		{"places of many", volume{4, [2]int64{r, s}, [2][]int{four(4), four(4)}, s}, [2]mode{carry, place}, [2]mode{carry, place}},
		{"words of several columns", volume{4, [2]int64{r, s}, [2][]int{{1, 8, 2}, {16, 4, 1}}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"padded words", volume{4, [2]int64{r, s}, [2][]int{{8, 4, 4, 4, 8, 1}, {16, 8, 1}}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"one and five", volume{4, [2]int64{r, s}, [2][]int{four(1), four(5)}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"one and nine", volume{4, [2]int64{r, s}, [2][]int{four(1), four(9)}, s}, [2]mode{carry, carry}, [2]mode{carry, pack}},
		{"five and one", volume{4, [2]int64{r, s}, [2][]int{four(5), four(1)}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"nine and one", volume{4, [2]int64{r, s}, [2][]int{four(9), four(1)}, s}, [2]mode{carry, carry}, [2]mode{pack, carry}},
		{"six and six", volume{4, [2]int64{r, s}, [2][]int{four(6), four(6)}, s}, [2]mode{carry, carry}, [2]mode{carry, carry}},
		{"positions that move", volume{4, [2]int64{r, s}, [2][]int{bytes(33), bytes(33)}, s}, [2]mode{carry, carry}, [2]mode{pack, pack}},
		{"positions apart", volume{4, [2]int64{r, s}, [2][]int{bytes(3), four(16)}, s}, [2]mode{pack, pack}, [2]mode{pack, pack}},
		{"sixteen and sixteen", volume{4, [2]int64{r, s}, [2][]int{four(16), four(16)}, s}, [2]mode{carry, carry}, [2]mode{pack, pack}},
		{"row ids", volume{4, [2]int64{r, s}, [2][]int{four(2), four(2)}, s}, [2]mode{rowID, rowID}, [2]mode{rowID, rowID}},
	} {
		shapes, modes := c.v.fit(c.wanted)
		if modes != c.want {
			t.Errorf("%s: modes %v in place of %v, %d bytes of %d", c.name, modes, c.want, c.v.peak(shapes, modes), c.v.bound())
		}
	}
}

// The bypass is used if it is within the bound, with the result allocated from the
// beginning.
func TestBypassPeak(t *testing.T) {
	const r = 1 << 27
	v := volume{4, [2]int64{r, r}, [2][]int{{4, 4, 4, 4}, {4, 4, 4, 4}}, r}
	s, _ := shapes(1, v.widths, [2]mode{carry, carry})
	if p := v.bypassPeak(s, 0.27); p > v.bound() {
		t.Errorf("a quarter is hot: %d bytes of %d", p, v.bound())
	}
	if p := v.bypassPeak(s, 0.01); p <= v.bound() {
		t.Errorf("few are hot: %d bytes of %d", p, v.bound())
	}
}

// A filter is refused if the reduced probe side plus the original one exceeds the
// bound; otherwise the reduced side has space for the rows that pass.
func TestFilteredShape(t *testing.T) {
	const r, s = 1 << 24, 1 << 28
	for _, c := range []struct {
		match float64
		out   int64
		want  bool
	}{{1. / 16, s / 16, true}, {1. / 4, s / 4, true}, {0.5, s / 2, true}, {1, s, false}} {
		j := costmodel.Resident{KeyBytes: 4, Rows: [2]int64{r, s}, Payload: [2][]int{{4, 4}, {4, 4}}, MatchRatio: c.match}
		if m, _ := Shape(j, c.out)(costmodel.Materialisation{Bloom: true}); m.Bloom != c.want {
			t.Errorf("%g of the rows match: a filter %v", c.match, m.Bloom)
		}
		v := volume{4, j.Rows, j.Payload, c.out}
		kept := v.keptRows(c.match)
		if left := int64(float64(s) * (c.match + (1-c.match)*costmodel.FilterLeaves(r))); kept < left || kept > s || c.match < 0.5 && kept < left*9/8 {
			t.Errorf("%g of the rows match: room for %d rows, %d are left", c.match, kept, left)
		}
		left, extra := v.reduced(kept)
		if in, _ := v.bytes(); extra != s*12 || left.rows != [2]int64{r, kept} || in != (r+s)*12 {
			t.Errorf("%+v, and %d bytes", left, extra)
		}
	}
}

func sum(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

func TestSplitBits(t *testing.T) {
	for _, c := range []struct{ bits, mostFirst, mostSecond, first, second int }{
		{0, 8, 8, 0, 0}, {7, 8, 8, 7, 0}, {8, 8, 8, 8, 0}, {9, 8, 8, 4, 5}, {15, 7, 8, 7, 8}, {15, 8, 8, 7, 8}, {16, 8, 8, 8, 8},
		{16, 8, 7, 8, 7}, {17, 7, 8, 7, 8}, {9, 7, 8, 4, 5},
	} {
		first, second := splitBits(c.bits, c.mostFirst, c.mostSecond)
		if first != c.first || second != c.second {
			t.Errorf("%d bits in passes of %d and %d: %d and %d, want %d and %d", c.bits, c.mostFirst, c.mostSecond, first, second, c.first, c.second)
		}
	}
}

// Counters of 4 bytes for 2^15 partitions take as much memory as those of 2 bytes for 2^16. A GPU
// that the kernels run on has enough for these.
func TestMostBits(t *testing.T) {
	for _, c := range []struct{ shared, blocks, want int }{
		{227 << 10, 1, 16}, {128 << 10, 1, 16}, {128<<10 - 1, 1, 14}, {227 << 10, 2, 14}, {64 << 10, 2, 13}, {48 << 10, 1, 13}, {4, 1, 0}, {0, 1, 0},
		{kernels.SharedMemory(8) - kernels.HistogramStatic, 1, maxBits}, {kernels.SharedMemory(9) - kernels.HistogramStatic, 1, maxBits},
	} {
		if got := mostBits(c.shared, c.blocks); got != c.want {
			t.Errorf("%d bytes for %d blocks: %d bits, want %d", c.shared, c.blocks, got, c.want)
		}
	}
}

func TestPartitionBits(t *testing.T) {
	for _, c := range []struct {
		rows  int64
		chunk int
		bits  int
	}{{0, 4608, 0}, {4147, 4608, 0}, {4148, 4608, 1}, {1 << 20, 4608, 8}, {1 << 27, 4608, 15}, {1 << 27, 2304, 16}, {1 << 31, 2304, 16}} {
		if got := partitionBits(c.rows, c.chunk); got != c.bits {
			t.Errorf("%d rows in chunks of %d: %d bits, want %d", c.rows, c.chunk, got, c.bits)
		}
	}
}

// Payload is gathered from where Lanes in kernels/layout/row.cuh stores it.
func TestStripes(t *testing.T) {
	const capacity = 64
	for _, c := range []struct {
		keyWords, words, word int
		offset, stride        uint64
	}{
		{1, 2, 0, 4 * capacity, 8}, {1, 2, 1, 4*capacity + 4, 8},
		{1, 4, 3, 4*capacity + 12, 16}, {1, 8, 5, 20*capacity + 4, 16},
		{2, 4, 2, 8*capacity + 8, 16}, {2, 8, 4, 24 * capacity, 16},
	} {
		offset, stride := stripeOf(c.keyWords, c.words, c.word, capacity)
		if offset != c.offset || stride != c.stride {
			t.Errorf("key of %d words, word %d of %d: offset %d, stride %d, want %d and %d", c.keyWords, c.word, c.words, offset, stride, c.offset, c.stride)
		}
	}
}

func TestOutputChunk(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want int64
	}{{0, 512}, {1 << 20, 512}, {1 << 28, 4096}} {
		if got := outputChunk(c.rows, 264); got != c.want {
			t.Errorf("%d rows: %d, want %d", c.rows, got, c.want)
		}
	}
}

// Fields of few words are read four rows at a time, unless their columns begin elsewhere than
// at multiples of 16 bytes.
func TestFirstKernels(t *testing.T) {
	for _, c := range []struct {
		keyWords int
		shape    shape
		aligned  bool
		want     string
	}{
		{1, shape{form: fields, words: 3, unit: 1}, true, "gj_first_k1_f3"},
		{1, shape{form: fields, words: 3, unit: 1}, false, "gj_pack_k1"},
		{1, shape{form: fields, words: 4, unit: 1}, true, "gj_first_k1_f4"},
		{1, shape{form: fields, words: 5, unit: 1}, true, "gj_pack_k1"},
		{2, shape{form: fields, words: 2, unit: 1}, true, "gj_first_k2_f2"},
		{2, shape{form: fields, words: 3, unit: 1}, true, "gj_first_k2_f3"},
		{2, shape{form: fields, words: 2, unit: 1}, false, "gj_pack_k2"},
		{2, shape{form: fields, words: 3, unit: 1}, false, "gj_unaligned_k2_f3"},
		{2, shape{form: fields, words: 4, unit: 1}, true, "gj_pack_k2"},
		{1, shape{words: 4, unit: 1}, false, "gj_first_k1_4x4"},
		{1, packedShape([]int{16, 16, 16}), true, "gj_pack_k1"},
		{1, idShape, true, "gj_first_k1_id"},
	} {
		if got := firstKernel(c.keyWords, c.shape, c.aligned); got != c.want {
			t.Errorf("key of %d words, %s, aligned %t: %s, want %s", c.keyWords, c.shape, c.aligned, got, c.want)
		}
	}
}

func TestSendsColumns(t *testing.T) {
	for _, c := range []struct {
		keyBytes int
		widths   [2][]int
		want     bool
	}{
		{4, [2][]int{nil, nil}, true},
		{4, [2][]int{{4}, {4}}, true},
		{4, [2][]int{repeated(4, 4), repeated(4, 4)}, true},
		{4, [2][]int{{8, 8}, {8, 8}}, true},
		{8, [2][]int{{8}, {8, 8}}, true},
		{4, [2][]int{{4}, {1}}, false},
		{4, [2][]int{{8}, {4}}, false},
		{4, [2][]int{{4}, repeated(5, 4)}, true},
		{4, [2][]int{repeated(3, 8), {8}}, false},
		{8, [2][]int{repeated(5, 4), nil}, false},
		{4, [2][]int{repeated(12, 4), {4}}, false},
	} {
		if got := SendsColumns(c.keyBytes, c.widths); got != c.want {
			t.Errorf("keys of %d bytes, payload %v: %v", c.keyBytes, c.widths, got)
		}
	}
}
