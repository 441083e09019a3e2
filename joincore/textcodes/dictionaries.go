package textcodes

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// dictionaries are those of the vocabularies of a plan that are whole.
type dictionaries map[*vocabulary]*dictionary

// dictionaries makes them, with the constants of the plan.
func (r *rewriting) dictionaries(mem *joincore.Account) (dictionaries, error) {
	out := dictionaries{}
	for _, of := range r.all {
		if of.mergedInto != nil {
			continue
		}
		d := newDictionary(mem)
		if of.ordered {
			d.most = mostOrdered
		}
		out[of] = d
		reader := d.reader()
		for _, c := range of.constants {
			if _, err := reader.code(c.text); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// order replaces codes in all columns by numbers that have the order of the texts, where
// the plan reads that.
func (n dictionaries) order(ctx context.Context, all []*columns, turns device.Turns) error {
	for of, d := range n {
		if of.ordered {
			d.order()
		}
	}
	for _, c := range all {
		err := c.each(ctx, turns, func(_ context.Context, _, i int) error {
			for _, col := range c.list {
				if col.kind == addedCode && col.of.root().ordered {
					col.renumber(n[col.of.root()], c.parts[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renumber replaces the codes of a part.
func (c *columnOf) renumber(d *dictionary, p part) {
	v := &c.vectors[p.segment]
	for row := p.first; row < p.first+p.n; row++ {
		if v.Validity[row/8]>>(row%8)&1 != 0 {
			at := v.Values[4*row:]
			binary.LittleEndian.PutUint32(at, d.number(binary.LittleEndian.Uint32(at)))
		}
	}
}

// complete sets the parameters that are the numbers of constants.
func (n dictionaries) complete(parameters []joincore.Parameter) error {
	for of, d := range n {
		reader := d.reader()
		for _, c := range of.constants {
			code, err := reader.code(c.text)
			if err != nil {
				return err
			}
			parameters[c.parameter].Int = int64(d.number(code))
		}
	}
	return nil
}

// relation returns the numbers and texts of a dictionary as an input (listedColumns).
func (d *dictionary) relation(mem *joincore.Account) (*joincore.Relation, error) {
	if d.listed != nil {
		return d.listed, nil
	}
	rows, heap := 0, 0
	d.each(func(_ uint32, value []byte) {
		rows++
		heap += joincore.TextSize(len(value), textAlign)
	})
	if uint64(heap) > 1<<32-1 {
		return nil, errHeap
	}
	var numbers, offsets, texts []byte
	for _, part := range []struct {
		of    *[]byte
		bytes int
	}{{&numbers, 4 * rows}, {&offsets, 4 * (rows + 1)}, {&texts, heap}} {
		var err error
		if *part.of, err = mem.Alloc(int64(part.bytes)); err != nil {
			return nil, err
		}
	}
	row, at := 0, 0
	d.each(func(code uint32, value []byte) {
		binary.LittleEndian.PutUint32(numbers[4*row:], d.number(code))
		binary.LittleEndian.PutUint32(offsets[4*row:], uint32(at))
		end := at + joincore.TextSize(len(value), textAlign)
		joincore.PutText(texts[at:end], value)
		at = end
		row++
	})
	binary.LittleEndian.PutUint32(offsets[4*rows:], uint32(heap))
	d.listed = &joincore.Relation{Columns: listedColumns, Segments: []joincore.Segment{{
		Rows: rows, Columns: []joincore.Vector{{Values: numbers}, {Values: offsets, Heap: texts}},
	}}}
	return d.listed, nil
}
