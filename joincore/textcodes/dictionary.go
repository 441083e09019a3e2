package textcodes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"gpujoin/joincore"
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
