//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/joincore/mesh"
	"gpujoin/tests/columndata"
	"gpujoin/testsupport/machines"
)

// devices are the devices of joins, with their inputs. The first one has all rows, of
// which its own part is the first.
type devices struct {
	members []mgj.Member
	group   *mgj.Group
	mesh    *mesh.Mesh
	data    *columndata.Data   // of the first
	sums    []*columndata.Data // of all
	marks   []driver.Mark      // after the inputs
}

// Memory of the devices, in bytes. The first one also joins alone.
const (
	firstMemory = 56 << 30
	otherMemory = 30 << 30
)

// shares gives the first device more memory than the others.
func shares(_ *driver.Context, number int) (int64, error) {
	if number == 0 {
		return firstMemory, nil
	}
	return otherMemory, nil
}

// openDevices opens the devices with memory that a function returns for each.
func (b *bench) openDevices(memory func(c *driver.Context, number int) (int64, error)) (_ *devices, err error) {
	d := &devices{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	for _, ordinal := range b.devices {
		c, err := driver.Open(ordinal)
		if err != nil {
			return nil, err
		}
		d.members = append(d.members, mgj.Member{Device: c})
	}
	for i := range d.members {
		m := &d.members[i]
		bytes, err := memory(m.Device, i)
		if err != nil {
			return nil, err
		}
		if m.Stream, err = m.Device.NewStream(); err != nil {
			return nil, err
		}
		var peers []*driver.Context
		for _, other := range d.members {
			peers = append(peers, other.Device)
		}
		if m.Arena, err = m.Device.NewArena(bytes/int64(b.shrink), peers...); err != nil {
			return nil, err
		}
		data, err := columndata.Load(m.Device, m.Stream, m.Arena)
		if err != nil {
			return nil, err
		}
		d.sums = append(d.sums, data)
	}
	d.data, d.marks = d.sums[0], make([]driver.Mark, len(d.members))
	if d.mesh, err = b.links(); err != nil {
		return nil, err
	}
	d.group, err = mgj.Open(d.members, d.mesh)
	return d, err
}

// linksMS returns how long the slowest link is busy, in ms, if the devices send some bytes evenly.
func (d *devices) linksMS(bytes float64) float64 {
	longest, n := time.Duration(0), len(d.members)
	for from := range n {
		for to := range n {
			if from == to {
				continue
			}
			if hops := d.mesh.Direct(from, to); len(hops) > 0 {
				longest = max(longest, hops[0].Time(int64(bytes/float64(n))))
			}
		}
	}
	return float64(longest) / float64(time.Millisecond)
}

// measureRates has joins chosen by what is measured on the first device, as a worker has.
func (d *devices) measureRates(ctx context.Context) error {
	m := d.members[0]
	rates, err := selector.Measure(ctx, m.Device, m.Stream, m.Arena)
	if err != nil {
		return err
	}
	for _, m := range d.members {
		selector.Use(m.Device, rates)
	}
	return nil
}

// links returns the mesh of the devices; of devices that are named twice, one whose
// links are all equal.
func (b *bench) links() (*mesh.Mesh, error) {
	named := map[int]bool{}
	for _, ordinal := range b.devices {
		named[ordinal] = true
	}
	if len(named) == len(b.devices) && len(named) > 1 {
		facts, err := links.Discover(context.Background(), b.devices, false)
		if err != nil {
			return nil, err
		}
		return facts.Mesh()
	}
	m, err := machines.Mesh("hgx-h100")
	if err != nil {
		return nil, err
	}
	if n := len(b.devices); n > m.GPUs() {
		return nil, fmt.Errorf("-devices: %d logical devices; joins are measured over at most %d", n, m.GPUs())
	}
	list := make([]int, len(b.devices))
	for i := range list {
		list[i] = i
	}
	return m.Restrict(list)
}

// fill makes a case's inputs on the first device, and gives each device its part.
func (d *devices) fill(ctx context.Context, c joinCase) ([]columnar.Join, error) {
	fill := d.data.Make
	if c.colocated {
		fill = d.makeColocated
	}
	if err := fill(ctx, c.Case); err != nil {
		return nil, err
	}
	parts := make([]columnar.Join, len(d.members))
	weights := make([]float64, len(parts))
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -c.placement)
	}
	all := d.data.Join
	d.marks[0] = d.data.Mark
	for i := 1; i < len(parts); i++ {
		d.members[i].Arena.Rewind(0)
	}
	for side := range 2 {
		from := sideOf(&all, side)
		for i, at := range bounds(from.Rows, weights) {
			if err := d.take(i, sideOf(&parts[i], side), from, at[0], at[1]); err != nil {
				return nil, err
			}
		}
	}
	for i, m := range d.members {
		if i > 0 {
			d.marks[i] = m.Arena.Mark()
		}
		parts[i].OutputRows = int64(float64(all.OutputRows) * float64(parts[i].Probe.Rows) / float64(max(all.Probe.Rows, 1)))
	}
	return parts, d.members[0].Stream.Sync(ctx)
}

func sideOf(j *columnar.Join, side int) *columnar.Side {
	return [2]*columnar.Side{&j.Build, &j.Probe}[side]
}

// bounds divides rows by weight at multiples of 64.
func bounds(rows int64, weights []float64) (list [][2]int64) {
	total, before, from := 0.0, 0.0, int64(0)
	for _, w := range weights {
		total += w
	}
	for i, w := range weights {
		before += w
		to := int64(float64(rows)*before/total) &^ 63
		if i+1 == len(weights) {
			to = rows
		}
		list = append(list, [2]int64{from, to})
		from = to
	}
	return list
}

// take gives a device rows of a side: the first one where they are, others a copy.
func (d *devices) take(device int, to, from *columnar.Side, low, high int64) error {
	to.Rows = high - low
	column := func(c columnar.Column) (columnar.Column, error) {
		at := c.Addr + driver.Ptr(low*int64(c.Bytes))
		if device == 0 {
			return columnar.Column{Addr: at, Bytes: c.Bytes}, nil
		}
		bytes := to.Rows * int64(c.Bytes)
		own, err := d.members[device].Arena.Take(bytes + driver.Line)
		if err != nil {
			return columnar.Column{}, err
		}
		return columnar.Column{Addr: own, Bytes: c.Bytes}, d.members[0].Stream.Push(own, d.members[device].Device, at, bytes)
	}
	var err error
	if to.Key, err = column(from.Key); err != nil {
		return err
	}
	to.Payload = nil
	for _, c := range from.Payload {
		own, err := column(c)
		if err != nil {
			return err
		}
		to.Payload = append(to.Payload, own)
	}
	return nil
}

// rewind takes back what joins have taken.
func (d *devices) rewind() {
	for i, m := range d.members {
		m.Arena.Rewind(d.marks[i])
	}
}

// verify compares a checksum with the expected one.
func (d *devices) verify(got columndata.Checksum) error {
	if want := d.data.Expected; got != want {
		return fmt.Errorf("wrong: %d rows of %d, checksum %x of %x", got.Rows, want.Rows, got.Sum, want.Sum)
	}
	return nil
}

// close frees everything.
func (d *devices) close() error {
	var errs []error
	if d.group != nil {
		errs = append(errs, d.group.Close())
	}
	for _, data := range d.sums {
		errs = append(errs, data.Close())
	}
	for _, m := range d.members {
		if m.Arena != nil {
			errs = append(errs, m.Arena.Close())
		}
		if m.Stream != nil {
			errs = append(errs, m.Stream.Close())
		}
	}
	for _, m := range d.members {
		errs = append(errs, m.Device.Close())
	}
	return errors.Join(errs...)
}
