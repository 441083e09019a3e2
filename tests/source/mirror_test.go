package source

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// heap is memory for mirrors.
type heap struct{}

func (heap) ExtentSize() int64 { return 16 << 20 }

func (heap) Extent() (kept.Extent, error) {
	return kept.Extent{Data: make([]byte, 16<<20), Release: func() {}}, nil
}

// newMirrors returns a server of mirrors, whose rewriting runs, and its target.
func newMirrors(t testing.TB) (*mirror.Server, source.Target) {
	s := mirror.New(heap{}, mirror.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { s.Work(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return s, source.Mirrored(s, source.Forms)
}

// each calls f with every row of a relation.
func each(r *joincore.Relation, f func(columns []joincore.Vector, row int)) {
	for i := range r.Segments {
		for row := range r.Segments[i].Rows {
			f(r.Segments[i].Columns, row)
		}
	}
}

func int4(v *joincore.Vector, row int) int32 {
	return int32(binary.LittleEndian.Uint32(v.Values[4*row:]))
}

func int8of(v *joincore.Vector, row int) int64 {
	return int64(binary.LittleEndian.Uint64(v.Values[8*row:]))
}

func text(v *joincore.Vector, row int) string {
	if v.Null(row) {
		return "null"
	}
	payload, err := joincore.TextPayload(v.Variable(row))
	if err != nil {
		return err.Error()
	}
	return string(payload)
}

// Readers of pins see at each moment one state of both tables: the sum of all amounts never
// changes. At the end the rows are those of the source.
func TestMirrorsAreConsistent(t *testing.T) {
	w := newWorld(t, shared, ledger+`
		create table two (id int primary key, amount bigint not null); insert into two select i, 100 from generate_series(1, 5000) i;`)
	total, err := strconv.ParseInt(w.one("select (select sum(amount) from ledger) + (select sum(amount) from two)"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	server, target := newMirrors(t)
	w.target = target
	w.open(source.Options{Loaders: 2})
	ctx, stop := context.WithCancel(bounded(t))
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for n := range 2 {
		s := w.connect()
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				a, b := (i*7919+n*31)%5000+1, (i*104729+n*17)%5000+1
				if err := s.Exec(context.Background(), fmt.Sprintf(`begin; update ledger set amount = amount - 3, note = case when id %% 2 = 0 then note end where id = %d;
					update two set amount = amount + 3 where id = %d; commit`, a, b)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	w.mirror("ledger")
	w.mirror("two")
	oids := []uint32{w.oid("ledger"), w.oid("two")}
	last := mirror.LSN(0)
	for range 50 {
		pin := server.Pin()
		sum := int64(0)
		for _, oid := range oids {
			r, err := pin.Relation(oid, []int{1})
			if err != nil {
				t.Fatal(err)
			}
			each(&r, func(c []joincore.Vector, row int) { sum += int8of(&c[0], row) })
		}
		if sum != total || pin.Position() < last {
			t.Fatalf("the sum is %d instead of %d at %d, after %d", sum, total, pin.Position(), last)
		}
		last = pin.Position()
		pin.Close()
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	all.Wait()
	w.barrier()
	pin := server.Pin()
	defer pin.Close()
	r, err := pin.Relation(oids[0], []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	each(&r, func(c []joincore.Vector, row int) {
		got = append(got, fmt.Sprintf("%d %d %s", int4(&c[0], row), int8of(&c[1], row), text(&c[2], row)))
	})
	want, err := w.sql.Query(bounded(t), "select id || ' ' || amount || ' ' || coalesce(note, 'null') from ledger")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want.Rows)
	if !slices.Equal(got, want.Rows) {
		t.Error(firstDifference(got, want.Rows))
	}
}

func (w *world) oid(table string) uint32 {
	w.t.Helper()
	n, err := strconv.ParseUint(w.one(fmt.Sprintf("select '%s'::regclass::oid", table)), 10, 32)
	if err != nil {
		w.t.Fatal(err)
	}
	return uint32(n)
}
