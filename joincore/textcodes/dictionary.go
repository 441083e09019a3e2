package textcodes

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// mostValues bounds the different values of a dictionary. More of them take cores longer
// than grouping by them does. Codes are positive integers of 4 bytes, whatever part of the
// values is in one shard.
const mostValues = 1 << 24

// mostOrdered bounds those of a dictionary whose values are sorted, by one core.
const mostOrdered = 1 << 20

// tooMany is the error of a dictionary that holds as many values as it may.
func (d *dictionary) tooMany() error {
	return fmt.Errorf("more than %d different texts: %w", d.most, joincore.ErrUnsupported)
}

// dictionary numbers strings of bytes. All workers of a column share it, so that a value
// has one code and is stored once. It is divided by the hash into shards with locks of
// their own.
type dictionary struct {
	seed   maphash.Seed
	values atomic.Int64 // of all shards
	most   int64        // values
	shards [shards]shard
	// ranks are the numbers of values in their order, by shard; nil: codes are.
	ranks [][]uint32
	// listed is what relation has returned.
	listed *joincore.Relation
}

const (
	shardBits = 7
	shards    = 1 << shardBits
)

func newDictionary(mem *joincore.Account) *dictionary {
	d := &dictionary{seed: maphash.MakeSeed(), most: mostValues}
	for i := range d.shards {
		d.shards[i].dictionary = d
		d.shards[i].memory = mem
	}
	return d
}

// reader is one worker's way to a dictionary: it remembers codes that it has met, so that
// it takes few locks for values that are frequent.
type reader struct {
	dictionary *dictionary
	known      []known
}

// known is a value and its code, at the place that the hash selects.
type known struct {
	hash  uint64
	value []byte // in the dictionary; nil: none
	code  uint32
}

// knownValues fit a core's private cache.
const knownValues = 1 << 12

func (d *dictionary) reader() *reader { return &reader{d, make([]known, knownValues)} }

// each visits all values.
func (d *dictionary) each(visit func(code uint32, value []byte)) {
	for number := range d.shards {
		s := &d.shards[number]
		for at := 0; at < len(s.slots); at += slotBytes {
			entry := s.slots[at : at+slotBytes]
			if local := binary.LittleEndian.Uint32(entry[slotNumber:]); local > 0 {
				visit((local-1)<<shardBits|uint32(number), s.value(entry))
			}
		}
	}
}

// order numbers the values in the order of their bytes.
func (d *dictionary) order() {
	type numbered struct {
		value []byte
		code  uint32
	}
	var all []numbered
	d.each(func(code uint32, value []byte) { all = append(all, numbered{value, code}) })
	slices.SortFunc(all, func(a, b numbered) int { return bytes.Compare(a.value, b.value) })
	d.ranks = make([][]uint32, shards)
	for i := range d.shards {
		d.ranks[i] = make([]uint32, d.shards[i].used)
	}
	for rank, v := range all {
		d.ranks[v.code%shards][v.code>>shardBits] = uint32(rank)
	}
}

// number returns the number of a value with a code.
func (d *dictionary) number(code uint32) uint32 {
	if d.ranks == nil {
		return code
	}
	return d.ranks[code%shards][code>>shardBits]
}

// numbers returns the numbers of all values, in the order of relation.
func (d *dictionary) numbers() []uint32 {
	var list []uint32
	d.each(func(code uint32, _ []byte) { list = append(list, d.number(code)) })
	return list
}

// code returns the code of b, which is new or has been returned for an equal string.
func (r *reader) code(b []byte) (uint32, error) {
	return r.codeOf(maphash.Bytes(r.dictionary.seed, b), b)
}

func (r *reader) codeOf(hash uint64, b []byte) (uint32, error) {
	k := &r.known[hash>>shardBits%knownValues]
	if k.hash == hash && k.value != nil && bytes.Equal(k.value, b) {
		return k.code, nil
	}
	number := hash % shards
	value, local, err := r.dictionary.shards[number].find(uint32(hash>>32), b)
	if err != nil {
		return 0, err
	}
	*k = known{hash, value, local<<shardBits | uint32(number)}
	return k.code, nil
}

// dictionaries are those of the vocabularies of a plan that are whole.
type dictionaries map[*vocabulary]*dictionary

// dictionaries makes them, with the constants of the plan.
func (r *rewriting) dictionaries(mem *joincore.Account, memo *memoUse) (dictionaries, error) {
	out := dictionaries{}
	for _, of := range r.all {
		if of.mergedInto != nil {
			continue
		}
		d := newDictionary(mem)
		if kept := memo.dictionary(of); kept != nil {
			d = kept
		}
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

// shard is the part of a dictionary for some hashes: an open hash table with linear
// probing, of which at most half is used. All of it is memory of the job.
type shard struct {
	dictionary *dictionary
	memory     *joincore.Account

	mu     sync.Mutex
	slots  []byte // of slotBytes each; a power of two
	used   uint32
	blocks [][]byte // of values: their lengths and their bytes. They stay where they are
	end    int      // used bytes of the last block
}

// A slot is the hash, the number of the value plus 1 (0: the slot is empty), its block
// and where in it the value is: four little-endian integers of 4 bytes.
const (
	slotBytes  = 16
	slotNumber = 4
	slotBlock  = 8
	slotAt     = 12
)

// firstSlots are those of a shard with a value. Blocks double from firstBlock to
// mostBlock bytes, but for longer values.
const (
	firstSlots  = 64
	firstBlock  = 4 << 10
	mostBlock   = 256 << 10
	lengthBytes = 4
)

// find returns the number of a value in the shard and its bytes there.
func (s *shard) find(hash uint32, b []byte) (value []byte, number uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if 2*(int(s.used)+1)*slotBytes > len(s.slots) {
		if err := s.grow(); err != nil {
			return nil, 0, err
		}
	}
	slot := s.slot(hash)
	for ; ; slot = s.next(slot) {
		entry := s.slots[slot : slot+slotBytes]
		number := binary.LittleEndian.Uint32(entry[slotNumber:])
		if number == 0 {
			break
		}
		if binary.LittleEndian.Uint32(entry) != hash {
			continue
		}
		if value := s.value(entry); bytes.Equal(value, b) {
			return value, number - 1, nil
		}
	}
	if s.dictionary.values.Add(1) > s.dictionary.most {
		return nil, 0, s.dictionary.tooMany()
	}
	if value, err = s.keep(b); err != nil {
		return nil, 0, err
	}
	entry := s.slots[slot : slot+slotBytes]
	binary.LittleEndian.PutUint32(entry, hash)
	binary.LittleEndian.PutUint32(entry[slotNumber:], s.used+1)
	binary.LittleEndian.PutUint32(entry[slotBlock:], uint32(len(s.blocks)-1))
	binary.LittleEndian.PutUint32(entry[slotAt:], uint32(s.end-len(b)-lengthBytes))
	s.used++
	return value, s.used - 1, nil
}

// slot returns where in the slots the search for a hash begins.
func (s *shard) slot(hash uint32) int { return int(hash) * slotBytes & (len(s.slots) - 1) }

func (s *shard) next(slot int) int { return (slot + slotBytes) & (len(s.slots) - 1) }

// value returns the bytes of an entry.
func (s *shard) value(entry []byte) []byte {
	from := s.blocks[binary.LittleEndian.Uint32(entry[slotBlock:])][binary.LittleEndian.Uint32(entry[slotAt:]):]
	end := lengthBytes + int(binary.LittleEndian.Uint32(from))
	return from[lengthBytes:end:end]
}

// keep copies a value behind the others.
func (s *shard) keep(b []byte) ([]byte, error) {
	bytes := lengthBytes + len(b)
	if n := len(s.blocks); n == 0 || len(s.blocks[n-1])-s.end < bytes {
		block, err := s.memory.Alloc(int64(max(min(firstBlock<<min(n, 16), mostBlock), bytes)))
		if err != nil {
			return nil, err
		}
		s.blocks, s.end = append(s.blocks, block), 0
	}
	to := s.blocks[len(s.blocks)-1][s.end : s.end+bytes : s.end+bytes]
	binary.LittleEndian.PutUint32(to, uint32(len(b)))
	copy(to[lengthBytes:], b)
	s.end += bytes
	return to[lengthBytes:], nil
}

// grow doubles the slots.
func (s *shard) grow() error {
	old := s.slots
	slots, err := s.memory.Alloc(int64(max(2*len(old), firstSlots*slotBytes)))
	if err != nil {
		return err
	}
	clear(slots)
	s.slots = slots
	for at := 0; at < len(old); at += slotBytes {
		entry := old[at : at+slotBytes]
		if binary.LittleEndian.Uint32(entry[slotNumber:]) == 0 {
			continue
		}
		slot := s.slot(binary.LittleEndian.Uint32(entry))
		for binary.LittleEndian.Uint32(s.slots[slot+slotNumber:]) != 0 {
			slot = s.next(slot)
		}
		copy(s.slots[slot:], entry)
	}
	s.memory.Free(old)
	return nil
}
