package cpu

import (
	"reflect"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// groupPlan says how the rows of an aggregation are grouped: what their keys
// are normalised to, and what state a group has.
//
// Keys are exact where all parts are integers of together at most 64 bits:
// one word holds all of them, and a tag says which are NULL. Otherwise each
// part has a word of its own - an integer, or up to 8 bytes, or a hash of more -
// and words behind them say which parts are NULL.
type groupPlan struct {
	dev       *dev
	memory    *joincore.Account // also of the plans of distinct values
	spec      *device.AggregateSpec
	keys      []keyPart
	exact     bool
	words     int // of a key
	spans     int // parts of bytes
	carry     []int
	carried   []int // of each carried column, the position of its input in carry
	arguments []argument
	functions []function
	sources   []source
	shared    int             // values that several arguments share
	only      []joincore.Expr // conditions that rows pass, in order, before they are grouped

	groups  layout // of the memory of groups
	offsets int    // first column of where the keys of bytes are
	lengths int    // first narrow column of how long they are; the tag is before it
	rows    int    // column of the number of rows
	skipped int    // first column of an argument's rows without a value, or of distinct ones with
	local   int    // how many groups a worker's own table has at most
	inParts int    // and that of a partition
}

// keyPart is one key of a group.
type keyPart struct {
	value typedValue
	raw   bool // the physical bytes of a column, of any type
	ref   joincore.ColumnRef
	span  int // position among the parts of bytes, -1: an integer
	bits  uint
	shift uint // of an exact key: where it lies in the word
}

// typedValue is a value and its type.
type typedValue struct {
	value    joincore.Value
	kind     joincore.Type
	compiled value
}

func (p *groupPlan) typed(v joincore.Value, t joincore.Type) typedValue {
	return typedValue{value: v, kind: t, compiled: p.dev.value(v, p.spec.Parameters)}
}

// argument is what functions are computed of: the values of those rows that
// pass the filter.
type argument struct {
	typedValue // value nil: rows only
	filter     joincore.Expr
	fails      bool // its evaluation may end with ErrArithmetic
	span       int  // position among the arguments of bytes of its source, or -1
}

// function is an aggregate function and its state.
type function struct {
	kind     joincore.FunctionKind
	argument int // -1: all rows
	state    int // its first column of the groups' memory
	distinct bool
	wide     bool // of 16 bytes each
	bytes    bool
	repeated bool // its state is that of an earlier function
	out      int  // its column of the result
}

// source is a stream of rows: the aggregate's own, or distinct values of one
// argument in each group.
type source struct {
	keys      []keyPart
	arguments []int // of the plan; of distinct values, none is NULL
	functions []int
	spans     int // arguments of bytes
	rows      layout
	distinct  *groupPlan // of what the rows are distinct; nil: the aggregate's own
}

// localGroups and localBytes bound the groups of a worker's own table, and
// partGroups those of a partition. Somewhat beyond the level 2 cache of its core,
// a table is still faster than partitions are.
const (
	localGroups = 1 << 16
	localBytes  = 6 << 20
	partGroups  = 1 << 16
)

// newGroupPlan plans an aggregation. spare is a number that no input has.
func newGroupPlan(d *dev, m *joincore.Account, spec *device.AggregateSpec, spare int) *groupPlan {
	p := &groupPlan{dev: d, memory: m, spec: spec}
	p.planKeys()
	for _, c := range spec.Carry {
		at := slices.Index(p.carry, c.Input)
		if at < 0 {
			at = len(p.carry)
			p.carry = append(p.carry, c.Input)
		}
		p.carried = append(p.carried, at)
	}
	p.sources = []source{{keys: p.keys}}
	for i := range spec.Functions {
		f := &spec.Functions[i]
		if f.Distinct {
			p.planDistinct(f, i, &spare)
		} else {
			p.planFunction(f, i, 0, p.argumentOf(f))
		}
	}
	p.shareValues()
	p.planMemory()
	return p
}

func typeOf(v joincore.Value, schema joincore.Schema) joincore.Type {
	t, err := joincore.ValueType(v, schema.Column)
	if err != nil {
		panic(err) // the plan was validated
	}
	return t
}

func (p *groupPlan) planKeys() {
	p.exact = true
	total := uint(0)
	for i, k := range p.spec.Keys {
		part := keyPart{span: -1}
		if ref, ok := k.(joincore.ColumnRef); ok {
			column := p.spec.Schema.Column(ref)
			part.ref = ref
			part.raw = column.Kind == joincore.Varlena || !isWord(column.Width)
		}
		if !part.raw {
			part.value = p.typed(k, typeOf(k, p.spec.Schema))
		}
		if part.raw || part.value.kind.Bytes || part.value.kind.Width == 16 {
			part.span = p.spans
			p.spans++
			p.exact = false
		} else {
			part.bits = uint(8 * p.spec.Columns[i].Width)
			part.shift = total
			total += part.bits
		}
		p.keys = append(p.keys, part)
	}
	p.exact = p.exact && total <= 64
	switch {
	case len(p.keys) == 0:
	case p.exact:
		p.words = 1
	default:
		p.words = len(p.keys) + (len(p.keys)+63)/64
	}
}

func isWord(width int) bool { return width == 1 || width == 2 || width == 4 || width == 8 }

func (p *groupPlan) argumentOf(f *joincore.Function) argument {
	a := argument{filter: f.Filter, fails: joincore.CanFail(f.Arg), span: -1}
	if f.Arg != nil {
		a.typedValue = p.typed(f.Arg, typeOf(f.Arg, p.spec.Schema))
	}
	return a
}

// planFunction adds a function of a source. Functions of equal arguments share
// one.
func (p *groupPlan) planFunction(f *joincore.Function, i, of int, a argument) {
	s := &p.sources[of]
	out := function{kind: f.Kind, argument: -1, distinct: f.Distinct, out: len(p.keys) + len(p.spec.Carry) + i}
	switch f.Kind {
	case joincore.Sum, joincore.Min, joincore.Max:
		out.wide, out.bytes = a.kind.Width == 16, a.kind.Bytes
	}
	if a.value != nil || a.filter != nil {
		for _, j := range s.arguments {
			if b := &p.arguments[j]; reflect.DeepEqual(a.value, b.value) && reflect.DeepEqual(a.filter, b.filter) {
				out.argument = j
			}
		}
		if out.argument < 0 {
			if a.value != nil && a.kind.Bytes {
				a.span = s.spans
				s.spans++
			}
			out.argument = len(p.arguments)
			p.arguments = append(p.arguments, a)
			s.arguments = append(s.arguments, out.argument)
		}
	}
	s.functions = append(s.functions, len(p.functions))
	p.functions = append(p.functions, out)
}

// planDistinct adds a function of distinct values: these are groups themselves,
// by the keys and the value, whose rows are then a source.
func (p *groupPlan) planDistinct(f *joincore.Function, i int, spare *int) {
	only := []joincore.Expr{&joincore.Not{Arg: &joincore.IsNull{Arg: f.Arg}}}
	if f.Filter != nil { // the argument of other rows is not evaluated
		only = []joincore.Expr{f.Filter, only[0]}
	}
	of := -1
	for j := 1; j < len(p.sources); j++ {
		d := p.sources[j].distinct
		if reflect.DeepEqual(d.spec.Keys[len(p.keys)], f.Arg) && reflect.DeepEqual(d.only, only) {
			of = j
		}
	}
	if of < 0 {
		of = len(p.sources)
		p.sources = append(p.sources, p.distinctSource(f.Arg, only, *spare))
		*spare++
	}
	d := p.sources[of].distinct.spec
	t := typeOf(f.Arg, p.spec.Schema)
	value := p.typed(joincore.ColumnRef{Input: d.ID, Column: len(p.keys)}, t)
	p.planFunction(f, i, of, argument{typedValue: value, span: -1})
}

// distinctSource plans the groups of the distinct values of rows that pass some
// conditions.
func (p *groupPlan) distinctSource(v joincore.Value, only []joincore.Expr, id int) source {
	spec := &device.AggregateSpec{
		ID: id, Keys: append(slices.Clone(p.spec.Keys), v),
		Columns:    append(slices.Clone(p.spec.Columns[:len(p.keys)]), p.storedAs(v)),
		Parameters: p.spec.Parameters, Schema: p.spec.Schema, Groups: p.spec.Groups,
	}
	s := source{distinct: newGroupPlan(p.dev, p.memory, spec, id+1)}
	s.distinct.only = only
	for i, k := range p.keys {
		k.ref = joincore.ColumnRef{Input: id, Column: i}
		if !k.raw {
			k.value = p.typed(k.ref, k.value.kind)
		}
		s.keys = append(s.keys, k)
	}
	return s
}

// storedAs returns the column of a key.
func (p *groupPlan) storedAs(v joincore.Value) joincore.Column {
	if ref, ok := v.(joincore.ColumnRef); ok {
		return p.spec.Schema.Column(ref)
	}
	return typeOf(v, p.spec.Schema).Column()
}

// planMemory lays out the memory of groups and that of rows.
func (p *groupPlan) planMemory() {
	p.offsets = p.words
	p.rows = p.offsets + p.spans
	p.skipped = p.rows + 1
	n := p.skipped + len(p.arguments)
	for i := range p.functions {
		f := &p.functions[i]
		f.state = n
		if !p.repeats(i) {
			n += f.columns()
		}
	}
	p.groups.n64 = n
	p.lengths = 0
	if p.exact {
		p.lengths = 1
	}
	p.groups.n32 = p.lengths + p.spans + len(p.carry)
	p.local = min(localGroups, max(localBytes/p.groups.bytes(1), localGroups/64))
	p.inParts = partGroups
	if n := p.dev.groups; n > 0 {
		p.local, p.inParts = n, n
	}
	for i := range p.sources {
		s := &p.sources[i]
		s.rows = layout{n64: p.words, n32: p.lengths + p.spans + s.spans, n8: len(s.arguments)}
		if i == 0 {
			s.rows.n32 += len(p.carry)
		}
		for _, a := range s.arguments {
			s.rows.n64 += p.arguments[a].wordsOf()
		}
	}
}

// repeats says whether a sum of floats has the state of an earlier one, and finds
// it.
func (p *groupPlan) repeats(i int) bool {
	f := &p.functions[i]
	for j := range p.functions[:i] {
		o := &p.functions[j]
		if isFloatSum(f.kind) && isFloatSum(o.kind) && o.argument == f.argument {
			f.state, f.repeated = o.state, true
		}
	}
	return f.repeated
}

// entryBytes is the size of a groupEntry.
const entryBytes = 16

// wordsOf returns how many words a value of an argument has in a row.
func (a *argument) wordsOf() int {
	switch {
	case a.value == nil || a.kind.Bytes:
		return 0
	case a.kind.Width == 16:
		return 2
	}
	return 1
}

// columns returns how many words of state a function has in a group.
func (f *function) columns() int {
	switch f.kind {
	case joincore.Count:
		return 0
	case joincore.Sum:
		return 2
	case joincore.SumOfSquares:
		return 4
	case joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat:
		return floatWords
	}
	if f.wide || f.bytes {
		return 2
	}
	return 1
}
