package mirrorcheck

import "fmt"

// truncating is the table that a writer empties and fills again.
const truncating = "batch"

// sizes are the numbers of rows of the source's tables.
type sizes struct{ accounts, products, docs, swaps, batch, big, loose int }

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{accounts: 3000, products: 100, docs: 60, swaps: 400, batch: 500, big: 3000, loose: 50}
	}
	return sizes{accounts: 100_000, products: 500, docs: 300, swaps: 4000, batch: 5000, big: 70_000, loose: 200}
}

// writers is the number of writers. Each has a row of beats that counts its transactions.
const writers = 6

// mirrored are the source's tables that can be mirrored; loose has no key.
var mirrored = []string{"beats", "debit", "credit", "orders", "lines", "stock", "docs", "swaps", "batch", "big", "pairs"}

// schema makes the source's tables.
func (z sizes) schema() string {
	return fmt.Sprintf(`
		create table beats (w int primary key, n bigint not null, transfers bigint not null);
		insert into beats select w, 0, 0 from generate_series(1, %[1]d) w;
		create table debit (id int primary key, amount bigint not null, moves int not null, note text);
		insert into debit select i, i %% 1000, 0, case when i %% 3 > 0 then 'account ' || i end from generate_series(1, %[2]d) i;
		create table credit (id int primary key, amount numeric(14, 2) not null, moves int not null);
		insert into credit select i, 1000 - i %% 1000, 0 from generate_series(1, %[2]d) i;
		create table orders (id bigint primary key, customer int not null, total numeric(14, 2) not null, n int not null, at timestamptz not null);
		create table lines (id bigint, n int, product int not null, quantity int not null, price numeric(10, 2) not null, primary key (id, n));
		create table stock (product int primary key, initial bigint not null, quantity bigint not null, name varchar(30) not null);
		insert into stock select i, 1000000, 1000000, 'product ' || i from generate_series(1, %[3]d) i;
		create table docs (id int primary key, v int not null, body text not null, sum text not null);
		alter table docs alter body set storage external;
		insert into docs select i, 0, body, md5(body) from (select i, string_agg(md5(i || ' ' || j), '') body from generate_series(1, %[4]d) i, generate_series(1, 150) j group by i) x;
		create table swaps (id int primary key, mark text not null);
		insert into swaps select i, 'mark ' || i from generate_series(1, %[5]d) i;
		create table batch (id int primary key, batch bigint not null, pad char(10) not null);
		insert into batch select i, 0, 'first' from generate_series(1, %[6]d) i;
		create table big (id int primary key, v bigint not null, t text);
		insert into big select i, 0, 'row ' || i from generate_series(1, %[7]d) i;
		create table pairs (id int primary key, n bigint not null);
		insert into pairs select i, 0 from generate_series(1, %[8]d) i;
		create table loose (id int, n bigint not null);
		insert into loose select i, 0 from generate_series(1, %[8]d) i;`,
		writers, z.accounts, z.products, z.docs, z.swaps, z.batch, z.big, z.loose)
}

// invariant is a query with one row that is the same in every committed state.
type invariant struct {
	name, sql, want string
	direct          bool // it reads a table that is never mirrored
	weight          int
}

// invariants are what readers check. The tables are those of the search path, which are
// foreign; products is a table of the local server.
func (z sizes) invariants() []invariant {
	return []invariant{
		{name: "transfers", weight: 5, want: fmt.Sprintf("%d.00\tt\tt", 1000*z.accounts), sql: `select d.a + c.a, d.m = c.m, d.m = b.t
			from (select sum(amount) a, sum(moves) m from debit) d, (select sum(amount) a, sum(moves) m from credit) c, (select sum(transfers) t from beats) b`},
		{name: "transfers joined", weight: 3, want: fmt.Sprintf("%d\t%d.00", z.accounts, 1000*z.accounts),
			sql: `select count(*), sum(debit.amount + credit.amount) from debit join credit using (id)`},
		{name: "some transfers", weight: 2, want: "t\tt", sql: fmt.Sprintf(`select count(*) = %d, count(*) = count(amount) from debit where id between 100 and %d`, z.accounts/2-99, z.accounts/2)},
		{name: "orders and lines", weight: 4, want: "0\tt", sql: `select count(*) filter (where o.total <> l.t or o.n <> l.c), count(*) = (select count(*) from orders)
			from orders o join (select id, sum(quantity * price) t, count(*) c from lines group by id) l using (id)`},
		{name: "lines without order", weight: 2, want: "0", sql: `select count(*) from lines l where not exists (select from orders o where o.id = l.id)`},
		{name: "stock and lines", weight: 3, want: "0", sql: `select count(*) from stock s left join (select product, sum(quantity) q from lines group by product) l using (product)
			where s.initial - s.quantity <> coalesce(l.q, 0)`},
		{name: "stock and a local table", weight: 2, want: fmt.Sprintf("%d\t%d", z.products, z.products),
			sql: `select count(*), count(*) filter (where s.name = p.name) from stock s join public.products p using (product)`},
		{name: "sold", weight: 2, want: "t", sql: `select coalesce(sum(o.total), 0) = coalesce((select sum(l.quantity * l.price) from lines l join stock s using (product)), 0) from orders o`},
		{name: "documents", weight: 2, want: fmt.Sprintf("0\t%d", z.docs), sql: `select count(*) filter (where md5(body) <> sum), count(*) from docs`},
		{name: "keys", weight: 3, want: fmt.Sprintf("%[1]d\t%[1]d\t%d\t0", z.swaps, z.swaps*(z.swaps+1)/2),
			sql: `select count(*), count(distinct abs(id)), sum(abs(id)), count(*) filter (where mark <> 'mark ' || abs(id)) from swaps`},
		{name: "batch", weight: 2, want: fmt.Sprintf("%d\t1\t1", z.batch), sql: `select count(*), count(distinct batch), count(distinct pad) from batch`},
		{name: "big", weight: 2, want: fmt.Sprintf("%d\tt", z.big), sql: `select count(*), min(v) = max(v) from big`},
		{name: "big joined", weight: 1, want: fmt.Sprintf("%d\tt", min(z.big, z.accounts)), sql: `select count(*), min(v) = max(v) from big join debit using (id)`},
		{name: "no key", weight: 2, direct: true, want: "t\t0", sql: `select sum(l.n) = sum(p.n), count(*) filter (where l.n <> p.n) from loose l join pairs p using (id)`},
	}
}
