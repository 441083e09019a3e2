//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/device"
)

// KeyBytes returns the bytes of a normalised key: 4 or 8.
func KeyBytes(key *device.Key) int { return 4 * keyWords(key) }

// Keyed writes the numbers of the rows of s whose key has no NULL part, in order, to
// out, which has space for all rows, and returns how many there are. It calls meanwhile while
// the device works, and uses memory of the arena.
func (q *Queue) Keyed(ctx context.Context, s Side, key *device.Key, out driver.Ptr, meanwhile func()) (rows int64, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	parts, _, err := partsOf(s, key)
	if err != nil || parts == nil {
		return 0, err
	}
	total, err := q.arena.Take(8)
	if err != nil {
		return 0, err
	}
	list, err := q.upload(ctx, parts)
	if err != nil {
		return 0, err
	}
	if err := q.selectRows("gj_select_keyed", s.Rows, out, total, uint64(list), uint64(len(parts))); err != nil {
		return 0, err
	}
	q.cost.Bytes += s.Rows * int64(4+len(parts))
	meanwhile()
	counted, err := q.read(ctx, total, 1)
	if err != nil {
		return 0, err
	}
	return int64(counted[0]), nil
}

// Keys writes the normalised keys of all rows of s to out, KeyBytes each. The key must
// be exact, and no row's key NULL.
func (q *Queue) Keys(ctx context.Context, s Side, key *device.Key, out driver.Ptr) error {
	if err := s.check(); err != nil {
		return err
	}
	parts, _, err := partsOf(s, key)
	if err != nil {
		return err
	}
	if parts == nil || !key.Exact {
		return fmt.Errorf("keys that are hashes, or that no row has, are no column: %w", joincore.ErrUnsupported)
	}
	list, err := q.upload(ctx, parts)
	if err != nil {
		return err
	}
	count, err := q.upload(ctx, uint64(s.Rows))
	if err != nil {
		return err
	}
	at, err := q.upload(ctx, keysDescriptor{Count: uint64(count), Parts: uint64(list), PartCount: uint64(len(parts)), Exact: 1, Out: uint64(out)})
	if err != nil {
		return err
	}
	q.cost.Bytes += s.Rows * int64(KeyBytes(key))
	for _, p := range parts {
		q.cost.Bytes += s.Rows * int64(p.Column.Width)
	}
	return q.launch(fmt.Sprintf("gj_normalise_k%d", keyWords(key)), s.Rows/rowsPerBlock+1, uint64(at))
}

// keyed is a side's keys with their row numbers, on their way to partitions.
type keyed struct {
	keyedDescriptor
	rows int64       // at most
	mark driver.Mark // to rewind to when the side is partitioned
}

// newKeyed normalises the keys of a side. Rows whose key is NULL are left out.
// What has to stay is taken from the arena first: rewinding to the mark frees
// the rest once the side has been partitioned.
func (q *Queue) newKeyed(ctx context.Context, s Side, key *device.Key, r radix, opt *Options) (*keyed, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	k := &keyed{rows: s.Rows}
	parts, nullable, err := partsOf(s, key)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		k.rows = 0
	}
	rowBytes, n := int64(4*(r.words+1)), r.partitions()
	k.FinalCapacity = uint64(bufferRows(k.rows, n, finalAlign))
	take := func(to *uint64, bytes int64) {
		if err == nil {
			var p driver.Ptr
			p, err = q.arena.Take(bytes)
			*to = uint64(p)
		}
	}
	zeroed := int64(4 * max(4, n))
	take(&k.Final, int64(k.FinalCapacity)*rowBytes)
	take(&k.Count, 8)
	take(&k.Counts, zeroed)
	take(&k.Start, zeroed)
	k.mark = q.arena.Mark()
	take(&k.Cursor, zeroed)
	take(&k.Tail, zeroed)
	for _, to := range []*uint64{&k.ParentCount, &k.ParentStart, &k.ParentCursor, &k.ParentTail} {
		take(to, 4<<r.first)
	}
	if r.second > 0 {
		k.FirstCapacity = uint64(bufferRows(k.rows, 1<<r.first, firstAlign))
		take(&k.First, int64(k.FirstCapacity)*rowBytes)
	}
	if err != nil {
		return nil, err
	}
	if err := q.stream.Memset(driver.Ptr(k.Counts), 0, zeroed); err != nil {
		return nil, err
	}
	if err := q.write(ctx, driver.Ptr(k.Count), bytesOf(uint64(k.rows))); err != nil || k.rows == 0 {
		return k, err
	}
	return k, q.normalise(ctx, k, parts, nullable, key, r, opt)
}

// partsOf finds the columns of a key; nil: one of them is NULL for every row.
func partsOf(s Side, key *device.Key) (parts []PartDescriptor, nullable bool, err error) {
	parts = []PartDescriptor{}
	for _, p := range key.Parts {
		c, err := s.Lookup(p.Column)
		if err != nil {
			return nil, false, err
		}
		if c.Missing {
			return nil, false, nil
		}
		nullable = nullable || c.nullable()
		parts = append(parts, PartDescriptor{Column: c.Descriptor(true), Bits: uint64(p.Bits)})
	}
	return parts, nullable, nil
}

// normalise makes the keys, of 4 * r.words bytes, and the numbers of the rows
// that have one. Without partitions they go to the final buffer at once. One
// column without NULLs that is as wide as the key is its own key.
func (q *Queue) normalise(ctx context.Context, k *keyed, parts []PartDescriptor, nullable bool, key *device.Key, r radix, opt *Options) error {
	partitioned := r.first > 0
	if partitioned && !nullable && key.Exact && len(parts) == 1 && parts[0].isKey(r.words) {
		k.Key = parts[0].Column.Values
		return nil
	}
	if r.second > 0 {
		// The second pass writes the final buffer when keys are not read any more.
		k.Key = k.Final
		k.Chosen = (k.Final + 4*uint64(r.words)*uint64(k.rows) + 15) / 16 * 16
	}
	if partitioned && r.second == 0 {
		at, err := q.arena.Take(4 * int64(r.words) * k.rows)
		if err != nil {
			return err
		}
		k.Key = uint64(at)
	}
	if nullable && k.Chosen == 0 {
		at, err := q.arena.Take(4 * k.rows)
		if err != nil {
			return err
		}
		k.Chosen = uint64(at)
	}
	if !nullable {
		k.Chosen = 0
	}
	list, err := q.upload(ctx, parts)
	if err != nil {
		return err
	}
	if nullable {
		if err := q.selectRows("gj_select_keyed", k.rows, driver.Ptr(k.Chosen), driver.Ptr(k.Count), uint64(list), uint64(len(parts))); err != nil {
			return err
		}
		q.cost.Bytes += 8 * k.rows
	}
	d := keysDescriptor{Count: k.Count, Chosen: k.Chosen, Parts: uint64(list), PartCount: uint64(len(parts)), Seed: opt.Seed, Out: k.Key}
	d.Exact, d.Collide = wordOf(key.Exact), wordOf(!key.Exact && opt.Collide)
	if !partitioned {
		d.OutRows, d.OutCapacity = k.Final, k.FinalCapacity
	}
	at, err := q.upload(ctx, d)
	if err != nil {
		return err
	}
	for _, p := range parts {
		q.cost.Bytes += k.rows * int64(p.Column.Width)
	}
	q.cost.Bytes += k.rows * 4 * int64(r.words)
	return q.launch(fmt.Sprintf("gj_normalise_k%d", r.words), k.rows/rowsPerBlock+1, uint64(at))
}

// isKey says whether the column can be read as it is in place of a key of so
// many words: the histogram reads 16 bytes at a time.
func (p *PartDescriptor) isKey(words int) bool {
	c := &p.Column
	return c.Positions == 0 && c.Width == uint64(4*words) && c.Values%16 == 0
}

// SpanBytes is a span, which a column of variable length has for each row: the address and the length of
// its value, 8 bytes each (gj_span of kernels/layout/general.h).
const SpanBytes = 16

// Column is a column of an input as the rows of a space see it.
type Column struct {
	Values    driver.Ptr // aligned as its values: Width bytes a row of the input; spans where Width is 0
	Validity  driver.Ptr // a byte a row of the input, 0: NULL; 0: there are no NULLs
	Positions driver.Ptr // uint32 a row of the space: its row of the input, or None; 0: row i of the space is row i of the input
	Width     int        // bytes: 1, 2, 4, or a multiple of 8 up to 64; 0: variable length
	// Optional says that some Positions may be None.
	Optional bool
	// Missing says that the space does not cover the column's input, so that
	// it reads as NULL. The other fields are then unused.
	Missing bool
}

// nullable says whether a row may be NULL.
func (c *Column) nullable() bool { return c.Validity != 0 || c.Optional || c.Missing }

// Lookup finds a column for the rows of a space.
type Lookup func(joincore.ColumnRef) (Column, error)

// Side is a space with what finds its columns.
type Side struct {
	Rows   int64
	Lookup Lookup
}

// check refuses more rows than there are row numbers.
func (s *Side) check() error {
	if s.Rows < 0 || s.Rows > kernels.MaxRows {
		return fmt.Errorf("space of %d rows, %d are possible: %w", s.Rows, int64(kernels.MaxRows), joincore.ErrUnsupported)
	}
	return nil
}
