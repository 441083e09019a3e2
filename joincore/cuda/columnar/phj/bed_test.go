//go:build cuda

package phj

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// bed is a test device.
type bed struct {
	d      *driver.Context
	stream *driver.Stream
	arena  *driver.Arena
	host   *driver.Host
}

const (
	arenaBytes = 256 << 20
	guardBytes = 1 << 20
	poison     = 0xa5
)

func newBed(t *testing.T) *bed {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := driver.Open(0)
	must(err)
	b := &bed{d: d}
	b.stream, err = d.NewStream()
	must(err)
	b.arena, err = d.NewArena(arenaBytes)
	must(err)
	b.host, err = d.Pinned(64 << 20)
	must(err)
	t.Cleanup(func() {
		must(b.host.Free())
		must(b.arena.Close())
		must(b.stream.Close())
		must(d.Close())
	})
	return b
}

// upload copies a side to the device. anywhere: its payload begins at no multiples of 16 bytes, as
// far as widths allow.
func (b *bed) upload(s table, rows int, anywhere bool) (side columnar.Side, err error) {
	side.Rows = int64(rows)
	for i, column := range s.columns {
		at, err := b.arena.Take(int64(len(column)) + driver.Line)
		if err != nil {
			return side, err
		}
		if anywhere && i > 0 {
			at += driver.Ptr(s.widths[i])
		}
		copy(b.host.Bytes(), column)
		if err := b.stream.CopyIn(at, b.host.Bytes()[:len(column)]); err != nil {
			return side, err
		}
		if err := b.stream.Sync(context.Background()); err != nil {
			return side, err
		}
		c := columnar.Column{Addr: at, Bytes: s.widths[i]}
		if i == 0 {
			side.Key = c
		} else {
			side.Payload = append(side.Payload, c)
		}
	}
	return side, nil
}

// download copies a result to the host.
func (b *bed) download(o *columnar.Output) (table, error) {
	var out table
	for _, c := range append(append([]columnar.Column{o.Key}, o.Build...), o.Probe...) {
		if c.Bytes == 0 {
			continue
		}
		host := b.host.Bytes()[:int(o.Rows)*c.Bytes]
		if err := b.stream.CopyOut(host, c.Addr); err != nil {
			return out, err
		}
		if err := b.stream.Sync(context.Background()); err != nil {
			return out, err
		}
		out.widths, out.columns = append(out.widths, c.Bytes), append(out.columns, bytes.Clone(host))
	}
	return out, nil
}

// check runs a trial and returns an error if its result is wrong.
func (b *bed) check(c trial, r *rand.Rand) error {
	b.arena.Rewind(0)
	build := random(r, c.rows[0], c.keys, c.key, c.widths[0], 0)
	if c.hot > 0 {
		unique(build)
	}
	probe := random(r, c.rows[1], c.keys, c.key, c.widths[1], c.hot)
	if c.misled {
		mislead(probe, b.d.HashSeed())
	}
	wanted := func(each func([]byte)) { c.reference(build, probe, each) }
	want := bag{seed: maphash.MakeSeed()}
	got := bag{seed: want.seed}
	wanted(want.add)
	j := columnar.Join{OutputRows: c.room, RowIDs: c.rowIDs, NoKey: c.noKey, Phases: r.IntN(4) == 0}
	if c.room == 0 {
		j.OutputRows = want.rows
	}
	var err error
	if j.Build, err = b.upload(build, c.rows[0], c.anywhere); err != nil {
		return err
	}
	if j.Probe, err = b.upload(probe, c.rows[1], c.anywhere); err != nil {
		return err
	}
	base := b.arena.Mark()
	if err := b.stream.Memset(b.arena.Base()+driver.Ptr(base), poison, b.arena.Size()-int64(base)); err != nil {
		return err
	}
	o, report, err := Run(context.Background(), b.d, b.stream, b.arena, &j, c.options)
	if err != nil {
		return err
	}
	if o.Rows != want.rows {
		return fmt.Errorf("%s returned %d rows in place of %d", report.Algorithm, o.Rows, want.rows)
	}
	result, err := b.download(o)
	if err != nil {
		return err
	}
	returned := func(each func([]byte)) { result.each(int(o.Rows), each) }
	if returned(got.add); got != want {
		return fmt.Errorf("%s: %s", report.Algorithm, difference(sorted(returned), sorted(wanted)))
	}
	if want := len(report.Phases) > 0; want != j.Phases || report.Syncs < 1 || report.PeakBytes < j.Build.Bytes() {
		return fmt.Errorf("report: %+v", report)
	}
	// Nothing was written beyond the reported peak.
	end := b.arena.Base() + driver.Ptr(base) + driver.Ptr(report.PeakBytes-j.Build.Bytes()-j.Probe.Bytes())
	return b.checkGuard(report.Algorithm, end)
}

// checkGuard checks that the poison from the given address on is intact.
func (b *bed) checkGuard(algorithm string, from driver.Ptr) error {
	if int64(from-b.arena.Base())+guardBytes > b.arena.Size() {
		return nil
	}
	guard := b.host.Bytes()[:guardBytes]
	if err := b.stream.CopyOut(guard, from); err != nil {
		return err
	}
	if err := b.stream.Sync(context.Background()); err != nil {
		return err
	}
	if i := slices.IndexFunc(guard, func(v byte) bool { return v != poison }); i >= 0 {
		return fmt.Errorf("%s wrote %d bytes behind its memory", algorithm, i)
	}
	return nil
}
