package program

// compiler writes a program. Its first error makes everything after it void.
type compiler struct {
	rows                          Rows
	code                          []Instruction
	columns                       numbers[Operand]
	constants                     numbers[int64]
	lists                         []int64 // of In, behind the constants
	slots                         int     // in use
	mostSlots                     int
	masks                         int // saved
	filterLength, filterColumns   int // instructions and columns of the filter
	groupedLength, groupedColumns int // up to Group
	err                           error
}

func newCompiler(rows Rows) *compiler {
	return &compiler{rows: rows, columns: newNumbers[Operand](), constants: newNumbers[int64]()}
}

// numbers numbers different things in the order in which they come.
type numbers[T comparable] struct {
	of   map[T]int
	list []T
}

func newNumbers[T comparable]() numbers[T] { return numbers[T]{of: map[T]int{}} }

func (n *numbers[T]) number(v T) int {
	i, ok := n.of[v]
	if !ok {
		i = len(n.list)
		n.of[v] = i
		n.list = append(n.list, v)
	}
	return i
}

func (c *compiler) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// finish returns the program. Lists of In lie behind the other constants.
func (c *compiler) finish() (*Program, error) {
	if c.mostSlots > MaxSlots {
		c.fail(unsupported("an expression that needs %d slots", c.mostSlots))
	}
	constants := append(c.constants.list, c.lists...)
	if len(c.columns.list) > maxIndex || len(constants) > maxIndex || len(c.code) > maxIndex {
		c.fail(unsupported("an expression of %d columns, %d constants and %d instructions", len(c.columns.list), len(constants), len(c.code)))
	}
	if c.err != nil {
		return nil, c.err
	}
	p := &Program{Code: c.code, Columns: c.columns.list, Constants: constants, Slots: c.mostSlots, Filter: c.filterLength, FilterColumns: c.filterColumns,
		Grouped: c.groupedLength, GroupedColumns: c.groupedColumns}
	for i, in := range c.code {
		if in.Code() == In {
			c.code[i] += Instruction(len(c.constants.list)) << 16
		}
		p.Wide = p.Wide || in.wide()
	}
	return p, nil
}

// operand is what an instruction combines the accumulator with.
type operand struct {
	kind  Kind
	index int
	wide  bool
}

func (c *compiler) emit(code Code, sub uint8, o operand, flags, extra int) {
	if o.wide {
		flags |= FlagOperandWide
	}
	c.code = append(c.code, Instruction(uint64(code)|uint64(sub)<<8|uint64(o.index&maxIndex)<<16|
		uint64(o.kind)<<32|uint64(flags)<<40|uint64(extra)<<48))
}

func (c *compiler) simple(code Code, sub uint8) { c.emit(code, sub, operand{}, 0, 0) }

func wideFlag(wide bool) int {
	if wide {
		return FlagWide
	}
	return 0
}

// take takes a slot for a value.
func (c *compiler) take(wide bool) operand {
	o := operand{kind: Slot, index: c.slots, wide: wide}
	c.slots += 1
	if wide {
		c.slots++
	}
	c.mostSlots = max(c.mostSlots, c.slots)
	return o
}

// drop frees the slot that was taken last.
func (c *compiler) drop(o operand) { c.slots = o.index }

// store writes the accumulator to a slot that may be wider.
func (c *compiler) store(to operand, wide bool) {
	if to.wide && !wide {
		c.simple(Widen, 0)
	}
	c.emit(Store, 0, operand{index: to.index}, wideFlag(to.wide), 0)
}

func (c *compiler) load(o operand) { c.emit(Load, 0, o, 0, 0) }

func (c *compiler) push(t Test) {
	c.simple(Push, uint8(t))
	if c.masks++; c.masks > maxMasks {
		c.fail(unsupported("an expression that is nested more than %d times", maxMasks))
	}
}

func (c *compiler) pop(code Code) {
	c.masks--
	c.simple(code, 0)
}

// skip jumps, where no row is at work, to where the returned function is called.
func (c *compiler) skip() (land func()) {
	at := len(c.code)
	c.simple(Skip, 0)
	return func() { c.code[at] |= Instruction(len(c.code)) << 32 }
}
