package phj

import "math"

// hotFrom is the number of sampled rows that makes a key hot.
const hotFrom = 4

// SampleParts returns how many rows of a sample each device contributes, by the probe rows
// that it has; nil if all have too few for a sample.
func SampleParts(rows []int64) (parts []int) {
	all, before := int64(0), int64(0)
	for _, n := range rows {
		all += n
	}
	if all < sampleSlots {
		return nil
	}
	for _, n := range rows {
		parts = append(parts, int((before+n)*sampleSlots/all-before*sampleSlots/all))
		before += n
	}
	return parts
}

// KeyCounts counts the keys of a sample that several devices contribute to. Joins reuse it.
type KeyCounts struct {
	keys     []uint64 // of all devices, in their order
	ends     []int    // of each device's keys
	frequent []uint64
	memory   []keyCount
	slots    []keyCount // a hash table; its size is a power of two
}

type keyCount struct {
	key   uint64
	count int32
	hot   bool
}

// Reset forgets all keys.
func (c *KeyCounts) Reset() { c.keys, c.ends = c.keys[:0], c.ends[:0] }

// Add adds the keys of the next device.
func (c *KeyCounts) Add(n int, key func(i int) uint64) {
	for i := range n {
		c.keys = append(c.keys, key(i))
	}
	c.ends = append(c.ends, len(c.keys))
}

// of returns a device's keys.
func (c *KeyCounts) of(device int) []uint64 {
	first := 0
	if device > 0 {
		first = c.ends[device-1]
	}
	return c.keys[first:c.ends[device]]
}

// Sampled returns the number of a device's keys.
func (c *KeyCounts) Sampled(device int) int { return len(c.of(device)) }

// count counts every n-th key of the sample, in a table of an n-th of the
// memory.
func (c *KeyCounts) count(n int) {
	if c.memory == nil {
		c.memory = make([]keyCount, 2*sampleSlots)
	}
	c.slots = c.memory[:len(c.memory)/n]
	clear(c.slots)
	for i := 0; i < len(c.keys); i += n {
		s := c.slot(c.keys[i])
		s.key = c.keys[i]
		s.count++
	}
}

// slot returns the slot of a key, or the empty one where it belongs.
func (c *KeyCounts) slot(key uint64) *keyCount {
	mask := uint64(len(c.slots) - 1)
	at := key * 0x9e3779b97f4a7c15 >> 40 & mask
	for {
		if s := &c.slots[at]; s.count == 0 || s.key == key {
			return s
		}
		at = (at + 1) & mask
	}
}

// repeatedOf: Repeated looks at every 8th key of the sample, because the GPUs wait for it.
const repeatedOf = 8

// Repeated returns which part of the keys occurs twice in an eighth of the sample. It takes
// little time, and is somewhat less than the part that Frequent finds.
func (c *KeyCounts) Repeated() float64 {
	c.count(repeatedOf)
	repeated := 0
	for i := 0; i < len(c.keys); i += repeatedOf {
		if c.slot(c.keys[i]).count > 1 {
			repeated++
		}
	}
	return float64(repeated*repeatedOf) / float64(max(len(c.keys), 1))
}

// Frequent returns the sample without rare keys, which frequent ones replace; nil if all keys
// are rare. It is valid until the next call.
func (c *KeyCounts) Frequent() (keys []uint64) {
	c.count(1)
	var last *keyCount
	for _, k := range c.keys {
		if s := c.slot(k); s.count >= hotFrom {
			last = s
		}
	}
	if last == nil {
		return nil
	}
	c.frequent = c.frequent[:0]
	for _, k := range c.keys {
		if c.slot(k).count < hotFrom {
			k = last.key
		}
		c.frequent = append(c.frequent, k)
	}
	return c.frequent
}

// Mark notes which of the keys that Frequent has counted are hot, and returns their part of
// the sample.
func (c *KeyCounts) Mark(h *Hot) float64 {
	rows := 0
	for _, k := range h.Keys {
		s := c.slot(k)
		s.hot = true
		rows += int(s.count)
	}
	return float64(rows) / float64(max(len(c.keys), 1))
}

// MostCold returns the largest part of the sample that one key has which is not hot: it may
// have several build rows, or have been in the slot of another key.
func (c *KeyCounts) MostCold() float64 {
	most := int32(0)
	for i := range c.slots {
		if s := &c.slots[i]; !s.hot {
			most = max(most, s.count)
		}
	}
	return float64(most) / float64(max(len(c.keys), 1))
}

// Hot returns how many of a device's keys are hot.
func (c *KeyCounts) Hot(device int) (rows int) {
	for _, k := range c.of(device) {
		if c.slot(k).hot {
			rows++
		}
	}
	return rows
}

// Hot are the hot keys of a join over several devices: frequent in the probe side, and with
// one row in the build side of all devices together.
type Hot struct {
	words []uint64 // gj_sample and the build rows, as they are copied to each device
	Keys  []uint64
}

// hotBytes is the size of Hot.words: the sample, then the key and the payload columns of build
// rows, each of maxHotKeys values.
const (
	hotKeyBytes     = 8
	hotPayloadBytes = 16 // of columns that have bypass kernels
	hotBytes        = sampleBytes + maxHotKeys*(hotKeyBytes+hotPayloadBytes)
)

// Places in gj_sample, in words of 4 bytes.
const (
	sampleCount   = 2 * (summaryWords + sampleSlots)
	sampleMatches = sampleCount + sampleSlots
	sampleHot     = sampleMatches + 2*sampleSlots
	sampleHotRow  = sampleHot + sampleSlots
	summaryHot    = 2 * hotKeys
)

// notHot is the number of a slot without a hot key.
const notHot = math.MaxUint32

// word returns 4 bytes of a list of 8-byte words.
func word(list []uint64, i int) uint32 { return uint32(list[i/2] >> (i % 2 * 32)) }

func setWord(list []uint64, i int, value uint32) {
	list[i/2] = list[i/2]&^(math.MaxUint32<<(i%2*32)) | uint64(value)<<(i%2*32)
}

// MergeHot makes one table of the hot keys that the devices have found: looked has, by
// device, its sample with the build rows of its own hot keys. keyWords is a key's size in
// words of 4 bytes, widths those of the build side's columns in bytes.
func MergeHot(looked [][]uint64, keyWords int, widths []int) *Hot {
	merged := &Hot{words: append([]uint64(nil), looked[0]...)}
	columns := append([]int{4 * keyWords}, widths...)
	for slot := range sampleSlots {
		setWord(merged.words, sampleHot+slot, notHot)
		owner, number := hotRow(looked, slot)
		h := len(merged.Keys)
		if owner < 0 || h == maxHotKeys {
			continue
		}
		setWord(merged.words, sampleHot+slot, uint32(h))
		setWord(merged.words, sampleHotRow+h, uint32(h))
		at := sampleBytes / 4
		for _, width := range columns {
			for w := range width / 4 {
				setWord(merged.words, at+h*width/4+w, word(looked[owner], at+number*width/4+w))
			}
			at += maxHotKeys * width / 4
		}
		merged.Keys = append(merged.Keys, merged.key(h, keyWords))
	}
	setWord(merged.words, summaryHot, uint32(len(merged.Keys)))
	setWord(merged.words, summaryHot+1, 0)
	return merged
}

// hotRow returns the device that has the only build row of a slot's frequent key, and its
// number among that device's hot keys; -1 if there is none.
func hotRow(looked [][]uint64, slot int) (device, number int) {
	device = -1
	matches := uint64(0)
	for i, sample := range looked {
		if n := word(sample, sampleMatches+slot); n > 0 {
			matches += uint64(n)
			device, number = i, int(word(sample, sampleHot+slot))
		}
	}
	if matches != 1 || word(looked[0], sampleCount+slot) < hotFrom || number >= maxHotKeys {
		return -1, 0
	}
	return device, number
}

func (h *Hot) key(number, keyWords int) (key uint64) {
	for w := range keyWords {
		key |= uint64(word(h.words, sampleBytes/4+number*keyWords+w)) << (32 * w)
	}
	return key
}
