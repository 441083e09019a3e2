package resident

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// fakeColumn is memory of a fake device: which row of which content each value is.
type fakeColumn struct {
	rows  []Piece // of one row each
	place int     // which part of the device it is in
	freed bool
}

// fakeDevice makes columns and counts the bytes of those that are not freed.
type fakeDevice struct {
	t     *testing.T
	bytes int64
}

const valueBytes = 8

func (d *fakeDevice) column(pieces []Piece) (c *fakeColumn, bytes int64, free func()) {
	c = &fakeColumn{}
	for _, p := range pieces {
		for i := range p.Rows {
			c.rows = append(c.rows, Piece{p.Content, p.From + i, 1})
		}
	}
	bytes = valueBytes * int64(len(c.rows))
	return c, bytes, func() {
		if c.freed {
			d.t.Error("memory was freed twice")
		}
		c.freed = true
		d.bytes -= bytes
	}
}

// read checks that what was found is what was wanted, and returns the rows that were not found.
func (d *fakeDevice) read(pieces []Piece, f *Found[*fakeColumn]) (missing int64) {
	d.t.Helper()
	want, _, _ := d.column(pieces)
	found := make([]bool, len(want.rows))
	end := int64(0)
	for _, r := range f.Runs {
		if r.Entry.Data.freed {
			d.t.Fatal("what was found has been freed")
		}
		if r.At < end || r.Rows < 1 {
			d.t.Fatalf("rows %d+%d behind %d", r.At, r.Rows, end)
		}
		end = r.At + r.Rows
		for i := range r.Rows {
			found[r.At+i] = true
			if have := r.Entry.Data.rows[r.Row+i]; have != want.rows[r.At+i] {
				d.t.Fatalf("row %d is %v, and not %v", r.At+i, have, want.rows[r.At+i])
			}
		}
	}
	named := int64(0)
	for i, p := range want.rows {
		if p.Content != 0 {
			named++
			if !found[i] {
				missing++
			}
		} else if found[i] {
			d.t.Fatal("a row without a name was found")
		}
	}
	if f.Named != named || f.Rows() != named-missing {
		d.t.Fatalf("%d rows with names, %d of them found: %d and %d", f.Named, f.Rows(), named, named-missing)
	}
	return missing
}

// load reads pieces as an execution does: it brings what is missing, and leaves it on the device
// if that is a gain.
func (d *fakeDevice) load(c *Cache[*fakeColumn], pieces ...Piece) (missing int64) {
	d.t.Helper()
	f := c.Find(pieces)
	defer f.Release()
	if missing = d.read(pieces, &f); missing > 0 {
		data, bytes, free := d.column(pieces)
		d.bytes += bytes
		if !c.Add(pieces, bytes, data, free) {
			d.bytes -= bytes
		}
	}
	return missing
}

func whole(contents ...uint64) (list []Piece) {
	for _, c := range contents {
		list = append(list, Piece{c, 0, 100})
	}
	return list
}

const hundred = 100 * valueBytes // bytes of 100 rows

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	d := &fakeDevice{t: t}
	c := New[*fakeColumn](3 * hundred)
	for content := range uint64(3) {
		d.load(c, whole(content+1)...)
	}
	d.load(c, whole(1)...) // now 2 is the oldest
	if d.load(c, whole(4)...) != 100 || c.Holds(2) || !c.Holds(1) || !c.Holds(3) || d.bytes != c.Bytes() {
		t.Errorf("%d bytes; 1: %v, 2: %v, 3: %v", c.Bytes(), c.Holds(1), c.Holds(2), c.Holds(3))
	}
	if c.Add(whole(5, 6, 7, 8), 4*hundred, nil, nil) || !c.Holds(4) {
		t.Error("more than may stay")
	}
	f := c.Find(whole(1))
	g := c.Find(whole(3, 4))
	if data, bytes, free := d.column(whole(9)); c.Add(whole(9), bytes, data, free) {
		t.Error("what is read was evicted")
	}
	f.Release()
	if d.load(c, whole(9)...) != 100 || c.Holds(1) || !c.Holds(9) {
		t.Error("what is no longer read is in the way")
	}
	d.read(whole(3, 4), &g)
	g.Release()
	g.Release()
	for range 3 {
		if !c.Evict(nil) {
			t.Error("nothing is evicted")
		}
	}
	if c.Evict(nil) || c.Bytes() != 0 || d.bytes != 0 {
		t.Errorf("%d bytes stay", d.bytes)
	}
	if New[*fakeColumn](0).Add(whole(1), 1, nil, nil) {
		t.Error("something stays where nothing may")
	}
}

// A column of which a part is new is there once, and a newer column is read as one run.
func TestANewerColumnReplacesAnOlderOne(t *testing.T) {
	d := &fakeDevice{t: t}
	c := New[*fakeColumn](100 * hundred)
	d.load(c, whole(1, 2, 3, 4)...)
	if missing := d.load(c, whole(1, 2, 5, 4)...); missing != 100 || c.Bytes() != 8*hundred || !c.Holds(3) {
		t.Errorf("%d rows were missing, %d bytes, 3: %v", missing, c.Bytes(), c.Holds(3))
	}
	if c.Drop([]uint64{3}); c.Bytes() != 4*hundred {
		t.Errorf("%d bytes after the only row that the older one had alone is gone", c.Bytes())
	}
	if d.load(c, whole(1, 2, 5, 4, 8)...); c.Bytes() != 5*hundred {
		t.Errorf("%d bytes after another one has all rows", c.Bytes())
	}
	f := c.Find(whole(1, 2, 5, 4))
	if len(f.Runs) != 1 || f.Runs[0].Rows != 400 {
		t.Errorf("%d runs", len(f.Runs))
	}
	f.Release()
	// Slices and rows without a name in between.
	part := []Piece{{1, 0, 60}, {1, 61, 39}, {2, 0, 100}, {0, 0, 10}, {5, 50, 50}}
	f = c.Find(part)
	if d.read(part, &f) != 0 || len(f.Runs) != 3 {
		t.Errorf("%d runs of slices", len(f.Runs))
	}
	f.Release()
	// What was kept as slices does not have the row between them.
	if missing := d.load(c, Piece{6, 0, 60}, Piece{6, 61, 39}); missing != 99 {
		t.Errorf("%d rows", missing)
	}
	if missing := d.load(c, whole(6)...); missing != 100 {
		t.Errorf("%d rows of the whole", missing)
	}
	if missing := d.load(c, Piece{0, 0, 300}, Piece{7, 0, 100}); missing != 100 || c.Holds(7) {
		t.Error("an entry that is mostly rows without a name")
	}
}

func TestWhatIsGoneIsDropped(t *testing.T) {
	d := &fakeDevice{t: t}
	c := New[*fakeColumn](100 * hundred)
	d.load(c, whole(1, 2, 3, 4)...)
	before := c.Version()
	c.Drop([]uint64{1, 77})
	if c.Holds(1) || !c.Holds(2) || c.Bytes() != 4*hundred || c.Version() == before {
		t.Error("one of four is gone")
	}
	f := c.Find(whole(2))
	c.Drop([]uint64{2, 3})
	if c.Holds(4) || c.Bytes() != 4*hundred {
		t.Error("three of four are gone, and one is read")
	}
	d.read(whole(2), &f)
	f.Release()
	if c.Bytes() != 0 || d.bytes != 0 {
		t.Errorf("%d bytes stay", c.Bytes())
	}
}

// Whatever executions do at the same time: they read what they want, nothing is freed that is
// read, and the limit holds.
func TestRandomExecutions(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		d := &fakeDevice{t: t}
		limit := int64(hundred * (2 + rnd.IntN(20)))
		c := New[*fakeColumn](limit)
		type reading struct {
			pieces []Piece
			found  Found[*fakeColumn]
		}
		var open []reading
		next, live := uint64(0), []uint64{}
		hits := int64(0)
		for range 500 {
			switch rnd.IntN(6) {
			case 0: // a new content in the place of another one
				next++
				if len(live) < 8 {
					live = append(live, next)
				} else {
					i := rnd.IntN(len(live))
					c.Drop(live[i : i+1])
					live[i] = next
				}
			case 1:
				if len(open) > 0 {
					i := rnd.IntN(len(open))
					d.read(open[i].pieces, &open[i].found)
					open[i].found.Release()
					open = slices.Delete(open, i, i+1)
				}
			case 2:
				place := rnd.IntN(2)
				c.Evict(func(f *fakeColumn) bool { return f.place == place })
			default:
				var pieces []Piece
				for _, content := range live {
					switch rnd.IntN(8) {
					case 0:
						pieces = append(pieces, Piece{content, 0, 40}, Piece{content, 41, 59})
					case 1:
						pieces = append(pieces, Piece{0, 0, int64(1 + rnd.IntN(50))})
					default:
						pieces = append(pieces, Piece{content, 0, 100})
					}
				}
				f := c.Find(pieces)
				missing := d.read(pieces, &f)
				hits += f.Rows()
				if missing > 0 || f.Entries() > 1 && f.Named == f.Rows() {
					data, bytes, free := d.column(pieces)
					data.place = rnd.IntN(2)
					d.bytes += bytes
					if !c.Add(pieces, bytes, data, free) {
						d.bytes -= bytes
					}
				}
				open = append(open, reading{pieces, f})
			}
			sum, contents := int64(0), map[uint64]bool{}
			c.Contents(func(content uint64, bytes int64) { sum += bytes; contents[content] = true })
			if c.Bytes() != d.bytes || c.Bytes() > limit || sum > c.Bytes() {
				t.Fatalf("seed %d: %d bytes, %d on the device, %d of contents, limit %d", seed, c.Bytes(), d.bytes, sum, limit)
			}
			for content := range contents {
				if !slices.Contains(live, content) {
					t.Fatalf("seed %d: content %d is gone", seed, content)
				}
			}
		}
		for i := range open {
			d.read(open[i].pieces, &open[i].found)
			open[i].found.Release()
		}
		for c.Evict(nil) {
		}
		if c.Bytes() != 0 || d.bytes != 0 || hits == 0 {
			t.Errorf("seed %d: %d bytes stay, %d rows were found", seed, d.bytes, hits)
		}
	}
}
