package shards

import "fmt"

// Tables returns the statements that make the tables orders and lineitem, with a suffix to
// their names, of the orders from first to last. They have primary keys and statistics.
func Tables(suffix string, first, last int) string {
	return fmt.Sprintf(`
		create table orders%[1]s as select k as o_key, (k * 7919) %% 3000 as o_cust, (array['high', 'low', 'medium'])[1 + k %% 3] as o_priority,
				(k %% 1000 + 0.25)::numeric(12,2) as o_price
			from generate_series(%[2]d::bigint, %[3]d) k;
		create table lineitem%[1]s as select k as l_order, line as l_line, chr((65 + (k + line) %% 5)::int) as l_flag,
				(k %% 50 + line)::numeric(12,2) as l_price
			from generate_series(%[2]d::bigint, %[3]d) k, generate_series(1, 3) line;
		alter table orders%[1]s add primary key (o_key);
		alter table lineitem%[1]s add primary key (l_order, l_line);
		analyze orders%[1]s, lineitem%[1]s;`, suffix, first, last)
}

// Customers makes the small table that every server has.
const Customers = `
	create table customer as select k as c_key, 'customer ' || k as c_name, k % 25 as c_nation from generate_series(0::bigint, 2999) k;
	alter table customer add primary key (c_key);
	analyze customer;`

// Queries over the tables of Attach, in the schema that search_path names.
const (
	// ByKey groups by the key by which the rows are divided: each node has whole groups.
	ByKey = `select o_key, count(*), sum(l_price) from orders join lineitem on o_key = l_order group by o_key having sum(l_price) > 145`
	// ByOthers groups by other columns: each node has rows of every group.
	ByOthers = `select o_priority, l_flag, count(*), sum(l_price) from orders join lineitem on o_key = l_order group by o_priority, l_flag`
)

// ByOthersOfParts returns ByOthers as the sum of one aggregate a node.
func ByOthersOfParts(nodes int) string {
	parts := ""
	for i := 1; i <= nodes; i++ {
		if i > 1 {
			parts += " union all "
		}
		parts += fmt.Sprintf(`select o_priority, l_flag, count(*) as n, sum(l_price) as price
			from orders_%[1]d join lineitem_%[1]d on o_key = l_order group by o_priority, l_flag`, i)
	}
	return `select o_priority, l_flag, sum(n), sum(price) from (` + parts + `) part group by o_priority, l_flag`
}
