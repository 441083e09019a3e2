package rowid

import (
	"fmt"
	"strings"
)

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
	var out []int
	for _, i := range []int{b.target, b.next} {
		if i >= 0 {
			out = append(out, i)
		}
	}
	return out
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
