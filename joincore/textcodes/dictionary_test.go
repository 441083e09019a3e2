package textcodes

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// TestDictionary has several readers number the same values, whose hashes are equal, equal
// in the bits that shards look at, or different.
func TestDictionary(t *testing.T) {
	for name, hash := range map[string]func(i int) uint64{
		"equal": func(int) uint64 { return 1 << 40 },
		"near":  func(i int) uint64 { return uint64(i%3) << 20 },
		"far":   func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 },
	} {
		t.Run(name, func(t *testing.T) {
			const values, readers = 800, 4
			arena := &suite.Arena{Poison: true}
			mem := joincore.NewAccount("texts", arena)
			d := newDictionary(mem)
			var codes [readers][values]uint32
			var wait sync.WaitGroup
			for r := range readers {
				wait.Go(func() {
					reader := d.reader()
					for i := range 2 * values {
						v := (i + r*300) % values
						code, err := reader.codeOf(hash(v), textOf(v))
						if err != nil || i >= values && codes[r][v] != code {
							t.Errorf("value %d: code %d, then %d, %v", v, codes[r][v], code, err)
							return
						}
						codes[r][v] = code
					}
				})
			}
			wait.Wait()
			of := map[uint32]int{}
			for v, code := range codes[0] {
				if other, ok := of[code]; ok || int32(code) < 0 {
					t.Errorf("values %d and %d have code %d", other, v, code)
				}
				of[code] = v
				for r := range readers {
					if codes[r][v] != code {
						t.Errorf("value %d has codes %d and %d", v, code, codes[r][v])
					}
				}
			}
			mem.Close()
			if n := arena.InUse(); n != 0 {
				t.Errorf("%d bytes are left", n)
			}
		})
	}
}

// textOf returns different texts, the first of them empty.
func textOf(v int) []byte {
	if v == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%0*d", v%700, v)
}

func TestDictionaryIsBounded(t *testing.T) {
	d := newDictionary(joincore.NewAccount("texts", &suite.Arena{}))
	defer d.shards[0].memory.Close()
	d.most = 10
	r := d.reader()
	for i := range 25 {
		_, err := r.code([]byte{byte(i % 11)})
		if i < 10 && err != nil || i == 10 && !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("value %d: %v", i, err)
		}
	}
	d = newDictionary(joincore.NewAccount("texts", &suite.Arena{Limit: 1000}))
	defer d.shards[0].memory.Close()
	if _, err := d.reader().code(make([]byte, 2000)); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("a budget that is too small: %v", err)
	}
}
