package textcodes

import (
	"bytes"
	"encoding/binary"
	"sync"

	"gpujoin/joincore"
)

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
