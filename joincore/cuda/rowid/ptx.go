package rowid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fixed is what does not change from launch to launch of a kernel.
type Fixed struct {
	Code    []uint64 // the program's instructions
	Columns []uint64 // of each column that it reads, what gj.column is
	Numbers []uint64 // what gj.fixed is
}

// ErrTooLarge: the program would become a kernel that takes too long to compile.
var ErrTooLarge = errors.New("the program is too large to be specialised")

// mostStatements bounds a specialised kernel; about 10,000 compile in a second.
const mostStatements = 20_000

// SpecialiseText returns a module with one kernel of a module that nvcc has written, specialised.
// It has the functions that the kernel calls, and all variables.
func SpecialiseText(text, name string, fixed *Fixed) (string, error) {
	m, err := parsePTX(text)
	if err != nil {
		return "", err
	}
	f := m.functions[name]
	if f == nil || !f.kernel {
		return "", fmt.Errorf("there is no kernel %s", name)
	}
	if err := f.parse(f.text[len(f.head)+2 : len(f.text)-2]); err != nil {
		return "", fmt.Errorf("kernel %s: %w", name, err)
	}
	s := &specialiser{f: f, fixed: fixed, copies: map[string]int{}}
	if err := s.run(); err != nil {
		return "", fmt.Errorf("kernel %s: %w", name, err)
	}
	var out strings.Builder
	out.WriteString(m.header)
	body := s.out.String()
	callees := m.callees(body)
	for _, callee := range callees {
		out.WriteString("\n" + m.declared[callee])
	}
	for _, callee := range callees {
		out.WriteString("\n" + m.functions[callee].text)
	}
	fmt.Fprintf(&out, "\n%s\n{\n%s\n%s}\n", f.head, strings.Join(f.declarations, "\n"), body)
	return out.String(), nil
}

// callees returns the functions that a text names, and those that they name.
func (m *ptxModule) callees(text string) []string {
	needed := map[string]bool{}
	for more := []string{text}; len(more) > 0; more = more[1:] {
		for _, name := range m.order {
			if !needed[name] && !m.functions[name].kernel && strings.Contains(more[0], name) {
				needed[name] = true
				more = append(more, m.functions[name].text)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(m.order), func(name string) bool { return !needed[name] })
}

// specialiser copies the blocks of a function.
type specialiser struct {
	f      *ptxFunction
	fixed  *Fixed
	blocks []*ptxBlock
	once   registerSet // registers with one definition
	kept   registerSet // those with several that may be known

	copies  map[string]int // of a block with what is known, by key
	pending []copiedBlock
	count   int // statements written
	out     strings.Builder
}

// copiedBlock is a block to be copied with what is known of its registers.
type copiedBlock struct {
	block, number int
	known         map[string]uint64
}

func (s *specialiser) run() (err error) {
	if s.blocks, err = ptxBlocks(s.f); err != nil {
		return err
	}
	s.classify()
	s.number(0, nil)
	for len(s.pending) > 0 {
		c := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		if err := s.copy(c); err != nil {
			return err
		}
		if s.count > mostStatements {
			return ErrTooLarge
		}
	}
	return nil
}

// classify finds the registers that may be known.
func (s *specialiser) classify() {
	definitions := map[string][]ptxStatement{}
	for _, in := range s.f.body {
		for _, r := range in.sets {
			definitions[r] = append(definitions[r], in)
		}
	}
	s.once, s.kept = registerSet{}, registerSet{}
	fixed := registerSet{}
	for r, list := range definitions {
		if len(list) > 1 {
			s.kept[r] = true
			continue
		}
		s.once[r] = true
		fixed[r] = strings.HasPrefix(list[0].op, "gj.")
	}
	for changed := true; changed; {
		changed = false
		for r := range s.kept {
			for _, d := range definitions[r] {
				copies := strings.HasPrefix(d.op, "mov.") && d.guard == "" && len(d.uses) == 1 && d.operands[1] == d.uses[0]
				if !copies || !fixed[d.uses[0]] && !s.kept[d.uses[0]] {
					delete(s.kept, r)
					changed = true
					break
				}
			}
		}
	}
}

// number returns the number of the copy of a block, which is made if there is none.
func (s *specialiser) number(b int, known map[string]uint64) int {
	live := map[string]uint64{}
	var names []string
	for r, v := range known {
		if s.blocks[b].live[r] {
			live[r] = v
			names = append(names, r)
		}
	}
	slices.Sort(names)
	var key strings.Builder
	fmt.Fprint(&key, b)
	for _, r := range names {
		fmt.Fprintf(&key, " %s=%x", r, live[r])
	}
	n, ok := s.copies[key.String()]
	if !ok {
		n = len(s.copies)
		s.copies[key.String()] = n
		s.pending = append(s.pending, copiedBlock{b, n, live})
	}
	return n
}

func (s *specialiser) write(format string, args ...any) {
	s.count++
	fmt.Fprintf(&s.out, format+"\n", args...)
}

// copy writes a block with what is left of its instructions.
func (s *specialiser) copy(c copiedBlock) error {
	b, known := s.blocks[c.block], c.known
	s.write("$S%d:", c.number)
	for i := range b.statements {
		if err := s.statement(&b.statements[i], known); err != nil {
			return err
		}
	}
	jump := func(to int) { s.write("bra.uni $S%d;", s.number(to, known)) }
	switch {
	case b.jump == nil:
		if b.next >= 0 {
			jump(b.next)
		}
	case b.jump.guard == "":
		if b.target < 0 {
			s.write("%s", b.jump.text)
		} else {
			jump(b.target)
		}
	default:
		if v, ok := known[b.jump.guard]; ok {
			switch taken := v&1 != 0 != b.jump.negated; {
			case !taken && b.next >= 0:
				jump(b.next)
			case taken && b.target >= 0:
				jump(b.target)
			case taken:
				s.write("%s;", b.jump.op)
			}
			return nil
		}
		if b.target < 0 {
			s.write("%s", b.jump.text)
		} else {
			not := ""
			if b.jump.negated {
				not = "!"
			}
			s.write("@%s%s bra $S%d;", not, b.jump.guard, s.number(b.target, known))
		}
		if b.next >= 0 {
			jump(b.next)
		}
	}
	return nil
}

// statement evaluates an instruction, or writes it.
func (s *specialiser) statement(in *ptxStatement, known map[string]uint64) error {
	if strings.HasPrefix(in.op, "gj.") {
		v, err := s.pseudo(in, known)
		if err == nil {
			known[in.sets[0]] = v
		}
		return err
	}
	if v, ok := s.fold(in, known); ok {
		known[in.sets[0]] = v
		return nil
	}
	if in.guard != "" {
		if v, ok := known[in.guard]; ok && v&1 != 0 == in.negated {
			return nil // it is not executed
		}
	}
	var done []string
	for _, r := range in.uses {
		if v, ok := known[r]; ok && !slices.Contains(done, r) {
			done = append(done, r)
			s.materialise(r, v)
		}
	}
	s.write("%s", in.text)
	for _, r := range in.sets {
		delete(known, r)
	}
	return nil
}

// fold evaluates an instruction whose operands are all known.
func (s *specialiser) fold(in *ptxStatement, known map[string]uint64) (uint64, bool) {
	if in.guard != "" || len(in.sets) != 1 || len(in.operands) < 2 || in.operands[0] != in.sets[0] {
		return 0, false
	}
	if r := in.sets[0]; !s.once[r] && !s.kept[r] {
		return 0, false
	}
	values := make([]uint64, 0, 3)
	for _, o := range in.operands[1:] {
		v, ok := known[o]
		if !ok {
			v, ok = ptxLiteral(o)
		}
		if !ok {
			return 0, false
		}
		values = append(values, v)
	}
	return evaluatePTX(in.op, values)
}

// pseudo returns the result of a pseudo-instruction.
func (s *specialiser) pseudo(in *ptxStatement, known map[string]uint64) (uint64, error) {
	if len(in.operands) < 2 || len(in.sets) != 1 || in.guard != "" {
		return 0, fmt.Errorf("cannot evaluate %q", in.text)
	}
	v, ok := known[in.operands[1]]
	if !ok {
		v, ok = ptxLiteral(in.operands[1])
	}
	if !ok {
		return 0, fmt.Errorf("what %q needs is not known", in.text)
	}
	var list []uint64
	switch in.op {
	case "gj.keep":
		return v, nil
	case "gj.code":
		list = s.fixed.Code
	case "gj.column":
		list = s.fixed.Columns
	case "gj.fixed":
		list = s.fixed.Numbers
	}
	if v >= uint64(len(list)) {
		return 0, fmt.Errorf("%q: %d of %d", in.text, v, len(list))
	}
	return list[v], nil
}

// materialise writes a known value to its register.
func (s *specialiser) materialise(r string, v uint64) {
	switch {
	case strings.HasPrefix(r, "%rd"):
		s.write("mov.u64 %s, 0x%x;", r, v)
	case strings.HasPrefix(r, "%rs"):
		s.write("mov.u16 %s, 0x%x;", r, cutTo(v, 16))
	case strings.HasPrefix(r, "%r"):
		s.write("mov.u32 %s, 0x%x;", r, cutTo(v, 32))
	default:
		s.write("setp.ne.u32 %s, %d, 0;", r, v&1)
	}
}
