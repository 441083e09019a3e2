package rowid

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// evaluatePTX computes an instruction without memory from its operands. Values are kept as
// unsigned numbers of the width of the result; ok is false for an instruction that it
// does not know.
func evaluatePTX(op string, v []uint64) (result uint64, ok bool) {
	parts := strings.Split(op, ".")
	kind, known := ptxTypes[parts[len(parts)-1]]
	if !known {
		return 0, false
	}
	width, signed := kind.width, kind.signed
	if want, ok := map[string]int{"mov": 1, "not": 1, "neg": 1, "popc": 1, "cvt": 1, "selp": 3}[parts[0]]; ok && len(v) != want || !ok && len(v) != 2 {
		return 0, false
	}
	switch parts[0] {
	case "mov":
		return cutTo(v[0], width), true
	case "setp":
		if len(parts) != 3 {
			return 0, false
		}
		return compareAs(parts[1], signExtend(v[0], width, signed), signExtend(v[1], width, signed), signed)
	case "selp":
		if v[2]&1 != 0 {
			return cutTo(v[0], width), true
		}
		return cutTo(v[1], width), true
	case "cvt":
		if len(parts) != 3 {
			return 0, false
		}
		to, known := ptxTypes[parts[1]]
		return cutTo(signExtend(v[0], width, signed), to.width), known
	case "mul":
		if len(parts) != 3 {
			return 0, false
		}
		a, b := signExtend(v[0], width, signed), signExtend(v[1], width, signed)
		switch {
		case parts[1] == "lo":
			return cutTo(a*b, width), true
		case parts[1] == "wide" && width <= 32:
			return cutTo(a*b, 2*width), true
		}
		return 0, false
	}
	if len(parts) != 2 {
		return 0, false
	}
	a := signExtend(v[0], width, signed)
	b := uint64(0)
	if len(v) > 1 {
		b = signExtend(v[1], width, signed)
	}
	switch parts[0] {
	case "add":
		a += b
	case "sub":
		a -= b
	case "and":
		a &= b
	case "or":
		a |= b
	case "xor":
		a ^= b
	case "not":
		a = ^a
	case "neg":
		a = -a
	case "shl":
		a <<= min(b&0xffffffff, 64)
	case "shr":
		if n := min(v[1]&0xffffffff, 64); signed {
			a = uint64(int64(a) >> n)
		} else {
			a >>= n
		}
	case "popc":
		return uint64(bits.OnesCount64(cutTo(v[0], width))), true
	case "min", "max":
		less := a < b
		if signed {
			less = int64(a) < int64(b)
		}
		if less != (parts[0] == "min") {
			a = b
		}
	default:
		return 0, false
	}
	return cutTo(a, width), true
}

// ptxTypes are types with their bits, and whether numbers of them have a sign.
var ptxTypes = map[string]struct {
	width  int
	signed bool
}{
	"pred": {1, false},
	"b8":   {8, false}, "b16": {16, false}, "b32": {32, false}, "b64": {64, false},
	"u8": {8, false}, "u16": {16, false}, "u32": {32, false}, "u64": {64, false},
	"s8": {8, true}, "s16": {16, true}, "s32": {32, true}, "s64": {64, true},
}

// cutTo keeps the low bits.
func cutTo(v uint64, width int) uint64 {
	if width == 64 {
		return v
	}
	return v & (1<<width - 1)
}

// signExtend makes a number of some bits one of 64.
func signExtend(v uint64, width int, signed bool) uint64 {
	if signed {
		return uint64(int64(v<<(64-width)) >> (64 - width))
	}
	return cutTo(v, width)
}

// compareAs returns 1 if a comparison holds, else 0; ok is false for one that it does not know.
func compareAs(how string, a, b uint64, signed bool) (result uint64, ok bool) {
	order := cmp.Compare(a, b)
	if signed {
		order = cmp.Compare(int64(a), int64(b))
	}
	holds, ok := map[string]bool{
		"eq": order == 0, "ne": order != 0,
		"lt": order < 0, "le": order <= 0, "gt": order > 0, "ge": order >= 0,
		"lo": order < 0, "ls": order <= 0, "hi": order > 0, "hs": order >= 0,
	}[how]
	return wordOf(holds), ok
}

// ptxBlock is a basic block.
type ptxBlock struct {
	statements []ptxStatement
	jump       *ptxStatement // the last one, if it is a jump
	target     int           // of the jump, or -1
	next       int           // the block behind, or -1
	live       registerSet   // registers whose values are read in the block or behind it
}

type registerSet map[string]bool

// ptxBlocks divides a function into basic blocks and computes which registers are live.
func ptxBlocks(f *ptxFunction) ([]*ptxBlock, error) {
	var list []*ptxBlock
	labels := map[string]int{}
	var b *ptxBlock
	for _, s := range f.body {
		if s.label != "" || b == nil {
			b = &ptxBlock{target: -1, next: -1}
			list = append(list, b)
			if s.label != "" {
				labels[s.label] = len(list) - 1
			}
		}
		switch {
		case s.op == "brx.idx" || s.op == "brx.idx.uni":
			return nil, fmt.Errorf("a jump by index")
		case s.isJump():
			jump := s
			b.jump, b = &jump, nil
		case s.op != "" || s.text != "":
			b.statements = append(b.statements, s)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("it has no instructions")
	}
	for i, b := range list {
		conditional := b.jump == nil || b.jump.guard != ""
		if conditional && i+1 < len(list) {
			b.next = i + 1
		}
		if b.jump != nil && len(b.jump.operands) == 1 && strings.HasPrefix(b.jump.op, "bra") {
			at, ok := labels[b.jump.operands[0]]
			if !ok {
				return nil, fmt.Errorf("a jump to %s, which is nowhere", b.jump.operands[0])
			}
			b.target = at
		}
	}
	liveness(list)
	return list, nil
}

func (b *ptxBlock) successors() []int {
	return slices.DeleteFunc([]int{b.target, b.next}, func(i int) bool { return i < 0 })
}

// liveness computes block.live of all blocks, from the last to the first until nothing
// changes.
func liveness(list []*ptxBlock) {
	sets := make([]registerSet, len(list))
	for i, b := range list {
		b.live, sets[i] = registerSet{}, registerSet{}
		for _, s := range b.statements {
			b.read(s, sets[i])
		}
		if b.jump != nil {
			b.read(*b.jump, sets[i])
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(list) - 1; i >= 0; i-- {
			b := list[i]
			for _, n := range b.successors() {
				for r := range list[n].live {
					if !sets[i][r] && !b.live[r] {
						b.live[r], changed = true, true
					}
				}
			}
		}
	}
}

// read notes what a statement reads before the block has set it, and what it sets
// whatever happens.
func (b *ptxBlock) read(s ptxStatement, done registerSet) {
	for _, r := range s.uses {
		if !done[r] {
			b.live[r] = true
		}
	}
	if s.guard == "" {
		for _, r := range s.sets {
			done[r] = true
		}
	}
}
