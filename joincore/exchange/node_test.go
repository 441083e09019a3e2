package exchange

import (
	"errors"
	"testing"

	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

// recorder is a fabric that only writes down what it is told.
type recorder struct {
	sent  []*Batch
	into  []Place
	notes []Note
}

// Send implements Fabric.
func (r *recorder) Send(b *Batch, into Place) {
	r.sent, r.into = append(r.sent, b), append(r.into, into)
}

// Tell implements Fabric.
func (r *recorder) Tell(from, to int, n Note) { r.notes = append(r.notes, n) }

// Announce implements Fabric.
func (r *recorder) Announce(from int, n Note) { r.notes = append(r.notes, n) }

func dgx1(t *testing.T) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func matrix(gpus int) [][]int64 {
	m := make([][]int64, gpus)
	for i := range m {
		m[i] = make([]int64, gpus)
	}
	return m
}

func node(t *testing.T, gpu int, c Config, traffic [][]int64) (*Node, *recorder) {
	t.Helper()
	r := &recorder{}
	nodes, err := NewNodes(dgx1(t), r, c, traffic)
	if err != nil {
		t.Fatal(err)
	}
	return nodes[gpu], r
}

func TestOffersAreChecked(t *testing.T) {
	traffic := matrix(8)
	traffic[0][1] = 100
	for _, c := range []struct {
		flow   Flow
		packet Packet
	}{
		{Flow{From: 1, To: 0}, Packet{Range{0, 1}, 8, 8}},         // not from here
		{Flow{From: 0, To: 8}, Packet{Range{0, 1}, 8, 8}},         // no such GPU
		{Flow{From: 0, To: 2}, Packet{Range{0, 1}, 8, 8}},         // not announced
		{Flow{From: 0, To: 1}, Packet{Range{0, 1}, 101, 8}},       // more than announced
		{Flow{From: 0, To: 1}, Packet{Range{0, 1}, 8, 0}},         // empty
		{Flow{From: 0, To: 1}, Packet{Range{0, 1}, 0, 8}},         //
		{Flow{From: 0, To: 1}, Packet{Range{0, 1}, 8, 2<<20 + 1}}, // larger than a slot
		{Flow{From: 0, To: -1}, Packet{Range{0, 1}, 8, 8}},        //
		{Flow{From: 0, To: 1}, Packet{Range{0, 1}, -8, 1}},        //
		{Flow{From: 0, To: 0}, Packet{Range{0, 1}, 8, 100}},       // to itself
	} {
		n, _ := node(t, 0, Default(), traffic)
		if err := n.Offer(c.flow, c.packet); !errors.Is(err, ErrTraffic) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNodesAreChecked(t *testing.T) {
	bad := func(change func(c *Config)) Config {
		c := Default()
		change(&c)
		return c
	}
	for _, c := range []Config{
		bad(func(c *Config) { c.Packet = 0 }), bad(func(c *Config) { c.Batch = 0 }), bad(func(c *Config) { c.Slots = 0 }),
		bad(func(c *Config) { c.Slots = MostSlots + 1 }), bad(func(c *Config) { c.Window = 0 }), bad(func(c *Config) { c.Posted = 0 }),
		bad(func(c *Config) { c.Policy = nil }), bad(func(c *Config) { c.Mid = -1 }),
	} {
		if _, err := NewNodes(dgx1(t), &recorder{}, c, matrix(8)); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	self := matrix(8)
	self[1][1] = 1
	negative := matrix(8)
	negative[0][1] = -1
	for _, traffic := range [][][]int64{matrix(7), self, negative} {
		if _, err := NewNodes(dgx1(t), &recorder{}, Default(), traffic); !errors.Is(err, ErrTraffic) {
			t.Errorf("%v: %v", traffic, err)
		}
	}
}

// A batch goes straight to the final memory over a direct hop; on the way over
// another GPU it takes slots there, which are not used again until that GPU
// says that they are free.
func TestSlotsAreCounted(t *testing.T) {
	traffic := matrix(8)
	traffic[3][0], traffic[3][4] = 4<<20, 40<<20
	c := Default()
	c.Policy, c.Posted = widest{}, 100
	n, r := node(t, 3, c, traffic)
	if err := n.Offer(Flow{From: 3, To: 0}, Cut(Range{0, 4 << 20}, 1, c.Packet)...); err != nil {
		t.Fatal(err)
	}
	direct := len(r.sent)
	for _, into := range r.into {
		if into.Class != Final {
			t.Fatalf("%+v", r.into)
		}
	}
	if err := n.Offer(Flow{From: 3, To: 4}, Cut(Range{0, 40 << 20}, 1, c.Packet)...); err != nil {
		t.Fatal(err)
	}
	var used Slots
	for i, b := range r.sent[direct:] {
		into := r.into[direct+i]
		at := slots(into.First, len(b.Packets))
		if into.Class != 0 || used&at != 0 || b.To() != 0 {
			t.Errorf("%+v into %+v", b, into)
		}
		used |= at
	}
	asks := func() (count int) {
		for _, x := range r.notes {
			if x.Kind == Ask && x.Class == 0 {
				count++
			}
		}
		return count
	}
	if used != slots(0, c.Slots) || asks() != 1 {
		t.Errorf("slots %b, asked %d times", used, asks())
	}
	before := len(r.sent)
	n.Heard(0, Note{Kind: Freed, Class: 0, Slots: 0b110})
	used = 0
	for i, b := range r.sent[before:] {
		used |= slots(r.into[before+i].First, len(b.Packets))
	}
	if used != 0b110 || asks() != 2 {
		t.Errorf("slots %b, asked %d times", used, asks())
	}
}

// Near the end of a pair's bytes batches become shorter, but not than Least, unless no more
// bytes are left; and Least makes no copy longer than it was.
func TestBatchesAreNotShorterThanLeast(t *testing.T) {
	const bytes = 41 << 20
	for _, least := range []int64{0, 1, 4 << 20, 5 << 20, 1 << 40} {
		traffic := matrix(8)
		traffic[0][3] = bytes
		c := Default()
		c.Policy, c.Posted, c.Least = widest{}, 100, least
		n, r := node(t, 0, c, traffic)
		if err := n.Offer(Flow{From: 0, To: 3}, Cut(Range{0, bytes}, 1, c.Packet)...); err != nil {
			t.Fatal(err)
		}
		longest := int64(n.chunk) * c.Packet
		var sum int64
		short := false
		for _, b := range r.sent {
			sum += b.Wire
			short = short || b.Wire < 4<<20 && sum < bytes
			if b.Wire < min(least, longest) && sum < bytes || b.Wire > longest {
				t.Errorf("least %d: a copy of %d bytes, %d are left", least, b.Wire, bytes-sum)
			}
		}
		if sum != bytes {
			t.Errorf("least %d: %d bytes of %d were sent", least, sum, bytes)
		}
		if short != (least < 4<<20) {
			t.Errorf("least %d: %d copies, short ones: %v", least, len(r.sent), short)
		}
	}
	c := Default()
	c.Least = -1
	if _, err := NewNodes(dgx1(t), &recorder{}, c, matrix(8)); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}

// A GPU that forwards frees a slot when its own copy is complete, and says so
// when it has been asked.
func TestForwarding(t *testing.T) {
	traffic := matrix(8)
	traffic[3][4] = 4 << 20
	n, r := node(t, 0, Default(), traffic)
	routes := dgx1(t).Routes(3, 4, 3)
	var over *mesh.Route
	for i := range routes {
		if g := routes[i].GPUs; len(g) == 3 && g[1] == 0 {
			over = &routes[i]
		}
	}
	b := newBatch(Flow{From: 3, To: 4}, Cut(Range{0, 4 << 20}, 1, 2<<20), over, 0, Place{Class: Source}, 4<<20)
	n.Heard(3, Note{Kind: Ask, Class: 0})
	n.Arrived(b, Place{Class: 0, First: 5})
	if len(r.sent) != 1 || r.into[0].Class != Final || r.sent[0].At != (Place{Class: 0, First: 5}) || r.sent[0].To() != 4 {
		t.Fatalf("%+v", r.sent)
	}
	freed := func() Slots {
		for _, x := range r.notes {
			if x.Kind == Freed {
				return x.Slots
			}
		}
		return 0
	}
	if freed() != 0 || n.Drained() {
		t.Errorf("slots %b are free before the copy is complete", freed())
	}
	n.Sent(r.sent[0])
	if freed() != slots(5, 2) || !n.Drained() || n.Stats().Forwarded != 4<<20 {
		t.Errorf("slots %b, %+v", freed(), n.Stats())
	}
}

// ARM takes the direct link until its queue is longer than a detour takes, and
// no staged hop where the fabric connects.
func TestAdaptiveAvoidsQueues(t *testing.T) {
	m := dgx1(t)
	v := newView(m)
	routes := Adaptive{}.Usable(m.Routes(0, 1, 3))
	choose := func(bytes int64) []int { return routes[Adaptive{}.Choose(&v, bytes, routes)].GPUs }
	if got := choose(64 << 10); len(got) != 2 {
		t.Errorf("empty network: %v", got)
	}
	// Equation 3 takes the slowest link alone: a large batch is faster over
	// three double links than over one single one.
	if got := choose(16 << 20); len(got) != 4 {
		t.Errorf("large batch, empty network: %v", got)
	}
	v.set(m.Direct(0, 1)[0].ID, 256<<20)
	if got := choose(64 << 10); len(got) == 2 {
		t.Errorf("full link: %v", got)
	}
	staged := Adaptive{}.Usable(m.Routes(0, 5, 3))
	if r := &staged[Adaptive{}.Choose(&v, 16<<20, staged)]; !r.Fabric {
		t.Errorf("from 0 to 5: %v", r.GPUs)
	}
}

// Hops through a switch share its ports.
func TestPortsAreShared(t *testing.T) {
	m, err := machines.Mesh("hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	v := newView(m)
	v.set(m.Direct(0, 1)[0].ID, 397<<20)
	if v.Delay(m.Direct(0, 2)[0]) == 0 || v.Delay(m.Direct(3, 1)[0]) == 0 || v.Delay(m.Direct(2, 3)[0]) != 0 {
		t.Error("a queue behind one hop does not delay the others of its ports")
	}
	routes := Adaptive{}.Usable(m.Routes(0, 1, 3))
	if got := routes[Adaptive{}.Choose(&v, 16<<20, routes)].GPUs; len(got) != 2 {
		t.Errorf("a detour through the same port: %v", got)
	}
}

// Receive buffers: 16 slots of 2 MiB for each of three classes and each of four
// NVLink neighbours; none behind a switch, where nothing is forwarded.
func TestBufferMemory(t *testing.T) {
	for name, want := range map[string]int64{"dgx1": 384 << 20, "hgx-h200": 0, "ac922": 0} {
		m, err := machines.Mesh(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Default().BufferBytes(m, 1); got != want {
			t.Errorf("%s: %d bytes, not %d", name, got, want)
		}
	}
}

// widest always takes the widest route, of these the shortest.
type widest struct{}

func (widest) Usable(of []mesh.Route) []mesh.Route { return of }

func (widest) Choose(_ *View, _ int64, of []mesh.Route) (best int) {
	for i := range of {
		if of[i].GBps() > of[best].GBps() {
			best = i
		}
	}
	return best
}
