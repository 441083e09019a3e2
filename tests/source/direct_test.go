package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// All direct reads of a statement see one state, whatever is committed between them.
func TestDirectReads(t *testing.T) {
	w := newWorld(t, shared, `
		create table a (id int primary key, "a ""b" text); create table b (id int);
		insert into a select i, 'v' || i from generate_series(1, 20000) i; insert into b select i from generate_series(1, 20000) i;
		create view v as select a.id, "a ""b" as x from a join b using (id);`)
	s := w.open(source.Options{})
	ctx := bounded(t)
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	read := func(r source.Read) (rows []string) {
		t.Helper()
		if err := snapshot.Copy(ctx, r, func(b *source.Batch) error {
			for i := range b.Rows {
				row := ""
				for c := range b.Columns {
					row += fmt.Sprintf("%x ", b.Value(i, c))
				}
				rows = append(rows, row)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	name := func(table string) source.Name { return source.Name{Schema: "public", Table: table} }
	if rows := read(source.Read{Table: name("a"), Columns: []source.Expression{{Column: `a "b`}, {Column: "id"}}, Where: "id = 7"}); !slices.Equal(rows, []string{"7637 00000007 "}) {
		t.Errorf("%q", rows)
	}
	w.exec("delete from a where id > 10; delete from b")
	for table, columns := range map[string][]source.Expression{"a": {{Column: "id"}}, "b": nil, "v": {{Column: "x"}}} {
		if n := len(read(source.Read{Table: name(table), Columns: columns})); n != 20000 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	err = snapshot.Copy(ctx, source.Read{Table: name("none")}, nil)
	if err == nil || !strings.Contains(err.Error(), "42P01") {
		t.Error(err)
	}
	snapshot.Close()
	if err := snapshot.Copy(ctx, source.Read{Table: name("a")}, nil); err == nil {
		t.Error("a closed snapshot was read")
	}
}

// Snapshots do not see tables empty that others truncate: those that are known before are
// locked, others are an error.
func TestDirectReadsOfTruncatedTables(t *testing.T) {
	w := newWorld(t, shared, `create table a (id int primary key); create table b (id int primary key); create table p (id int) partition by range (id);
		create table p1 partition of p for values from (0) to (1000); insert into a select generate_series(1, 100); insert into b table a; insert into p table a;
		create view v as select * from a; create materialized view m as select * from a`)
	s := w.open(source.Options{})
	ctx := bounded(t)
	count := func(n *source.Snapshot, table string) (rows int, err error) {
		err = n.Copy(ctx, source.Read{Table: names(table)[0]}, func(b *source.Batch) error { rows += b.Rows; return nil })
		return rows, err
	}
	var snapshot *source.Snapshot
	var err error
	t.Cleanup(func() {
		if snapshot != nil {
			snapshot.Close() // before its session
		}
	})
	snapshot, err = s.Snapshot(ctx, names("a", "v", "m", "none")...)
	if err != nil {
		t.Fatal(err)
	}
	w.exec("set lock_timeout = '300ms'")
	if err := w.sql.Exec(ctx, "truncate a"); harness.SQLState(err) != "55P03" {
		t.Errorf("truncating a locked table: %v", err)
	}
	for _, table := range []string{"a", "v", "m"} {
		if n, err := count(snapshot, table); n != 100 || err != nil {
			t.Errorf("%s: %d rows, %v", table, n, err)
		}
	}
	// Tables that are known later.
	w.exec("truncate b")
	if n, err := count(snapshot, "b"); err == nil || !strings.Contains(err.Error(), "40001") {
		t.Errorf("b: %d rows, %v", n, err)
	}
	snapshot.Close()
	w.exec("truncate a")
	if snapshot, err = s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := count(snapshot, "p"); n != 100 || err != nil {
		t.Errorf("p: %d rows, %v", n, err)
	}
	snapshot.Close()
	if snapshot, err = s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	w.exec("truncate p1")
	if n, err := count(snapshot, "p"); err == nil || !strings.Contains(err.Error(), "40001") {
		t.Errorf("p: %d rows, %v", n, err)
	}
	snapshot.Close()
	if snapshot, err = s.Snapshot(ctx, names("p")...); err != nil {
		t.Fatal(err)
	}
	if err := w.sql.Exec(ctx, "truncate p1"); harness.SQLState(err) != "55P03" {
		t.Errorf("truncating a partition of a locked table: %v", err)
	}
}

// The catalogue describes what IMPORT and EXPLAIN need.
func TestDescribe(t *testing.T) {
	w := newWorld(t, shared, kinds+`
		create collation german (provider = libc, locale = 'POSIX');
		create domain short as positive;
		create table more (id int, name text collate german not null, price short, gone int, unique (id)); alter table more drop column gone;
		alter table more alter id set not null; alter table more replica identity using index more_id_key;
		comment on table more is 'its comment'; comment on column more.name is 'the name';
		insert into more select i, 'n', 1 from generate_series(1, 1000) i; analyze more;
		create view seen as select 1 as one;`)
	s := w.open(source.Options{})
	ctx := bounded(t)
	if f, err := s.Facts(ctx); err != nil || f.Version < 150000 || f.WALLevel != "logical" || f.FreeSlots > f.Slots || f.WALBlock != 8192 {
		t.Errorf("%+v, %v", f, err)
	}
	list, err := s.List(ctx, "public")
	if err != nil || !slices.Equal(list, names("kinds", "more", "seen")) {
		t.Errorf("%v, %v", list, err)
	}
	tables, err := s.Describe(ctx, append(list, source.Name{Schema: "none", Table: "none"})...)
	if err != nil || len(tables) != 3 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	more := tables[1]
	if more.Direct != nil || more.Rows != 1000 || more.Pages == 0 || more.Bytes < 8192 || more.Comment != "its comment" ||
		!slices.Equal(more.Key, []int{0}) || !slices.Equal(more.Published, []int{0, 1, 2}) {
		t.Errorf("%+v", more)
	}
	name, price := more.Columns[1], more.Columns[2]
	if name.CollationName != "public.german" || name.Comment != "the name" || !name.NotNull || name.TypeName != "text" {
		t.Errorf("%+v", name)
	}
	if price.TypeName != "public.short" || price.BaseType != 1700 || price.BaseTypmod != 12<<16+2+4 || !more.Columns[3].Dropped {
		t.Errorf("%+v", price)
	}
	all := tables[0]
	if !slices.Equal(all.Key, []int{1, 0}) || len(all.Published) != len(all.Columns)-2 {
		t.Errorf("%+v", all)
	}
	var left []string
	for _, f := range source.Forms(all) {
		left = append(left, fmt.Sprint(all.Columns[all.Published[f.Place]].Name, f.Type.Form, f.Type.Scale))
	}
	if want := "a0 0 b0 0 c0 0 d1 2 e0 0 f0 0 g0 0 h0 0 j0 0 l1 2 m0 0 n0 0 o0 0 Odd \"Name0 0"; strings.Join(left, " ") != want {
		t.Errorf("%s", strings.Join(left, " "))
	}
	if tables[2].Direct == nil {
		t.Error("a view can be mirrored")
	}
}
