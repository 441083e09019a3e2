package foreign

import (
	"strings"
	"testing"
)

const keysSchema = `create table pairs (id int primary key, ch char(10), c numeric(12,4), n numeric, w numeric(30,3), ts timestamp, r real, f float8, iv interval, nm name, t text);
insert into pairs select i, 'c' || i % 30, (i % 1000) / 7.0, case when i % 50 = 0 then 'NaN' when i % 51 = 0 then 'infinity' else i / 3.0 end, i / 8.0,
	case when i % 40 = 0 then 'infinity' else timestamp '2020-01-01' + i % 800 * interval '1 day' end,
	case when i % 60 = 0 then 'NaN' when i % 61 = 0 then '-0' else (i % 100) / 4.0 end, i / 7.0,
	case when i % 2 = 0 then i * interval '1 minute' else i / 60 * interval '1 hour' + i % 60 * interval '1 minute' end, ('n' || i % 20)::name, 'n' || i % 25
	from generate_series(1, 400) i`

// keyJoins compare columns in all forms of keys, of foreign tables and of a local one.
var keyJoins = []string{
	"i.ch = p.ch", "i.c = p.c", "i.n = p.n", "i.c = p.n", "i.n = p.w", "i.d = p.ts", "p.ts = i.d and i.s = p.id % 300", "i.f = p.r", "i.r = p.r", "i.r = p.f", "i.f = p.f", "i.iv = p.iv",
	"i.nm = p.nm", "i.nm = p.t", "i.ch = p.ch and i.c = p.c", "i.ts = p.ts and i.ch = p.ch",
}

// TestKeyForms joins foreign tables on columns whose values are compared in another form, read directly
// and from mirrors, before and after changes.
func TestKeyForms(t *testing.T) {
	p := newItems(t)
	p.source.exec(keysSchema)
	p.local.exec(strings.Replace(keysSchema, "create table pairs", "create table public.pairs", 1) + "; analyze public.pairs")
	p.local.exec("create foreign table far (id int, ch char(10), c numeric(12,4), n numeric, w numeric(30,3), ts timestamp, r real, f float8, iv interval, nm name, t text) server src options (schema_name 'public', table_name 'pairs')")
	p.source.exec("create view far as select * from pairs")
	p.local.exec("set gpujoin.min_rows = 0")
	check := func() {
		t.Helper()
		offloaded := 0
		for _, on := range keyJoins {
			for _, with := range []string{"far", "pairs"} {
				q := "select i.id, p.id, i.txt, p.ch from items i join " + with + " p on " + on
				p.same(q)
				p.same("select count(*), sum(p.id) from items i left join " + with + " p on " + on)
				plan := p.local.plan(q)
				offloaded += plan.Jobs
				if len(plan.Fallbacks) > 0 {
					t.Errorf("%s: %q", q, plan.Fallbacks)
				}
			}
		}
		if offloaded < 2*len(keyJoins) {
			t.Errorf("%d joins are offloaded of %d", offloaded, 2*len(keyJoins))
		}
	}
	p.local.exec("alter server src options (mirror 'off')")
	check()
	p.local.exec("alter server src options (drop mirror)")
	p.settle("items", "kinds", "far")
	check()
	p.source.exec("delete from items where id % 3 = 0; update items set ch = ch || '!', n = n + 1 where id % 5 = 0; insert into pairs select id + 1000, ch, c, n, w, ts, r, f, iv, nm, t from pairs where id % 2 = 0")
	p.local.exec("insert into public.pairs select id + 1000, ch, c, n, w, ts, r, f, iv, nm, t from public.pairs where id % 2 = 0")
	check()
}
