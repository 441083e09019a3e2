// Package shards starts servers that share the rows of two tables: nodes, each with the
// extension, a daemon of its own and a part of the rows, and a coordinator that reads
// these parts as foreign tables of postgres_fdw.
package shards

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"gpujoin/tests/harness"
)

// Node is a server, its daemon, and a session that looks at both.
type Node struct {
	*harness.Pair
	Session *harness.Session
}

// World is the coordinator and its nodes.
type World struct {
	Coordinator *Node
	Nodes       []*Node

	orders int // of each node
}

// Options say how a World starts.
type Options struct {
	Nodes    int
	Orders   int                   // of each node; an order has three lines
	Settings harness.Settings      // of all servers
	Daemon   harness.DaemonOptions // of all daemons
	// Replica: the coordinator has a local copy of all rows in its schema public.
	Replica bool
}

// coordinator has the settings with which PostgreSQL considers sending joins and
// aggregates of partitions to their servers.
var coordinator = harness.Settings{"enable_partitionwise_join": "on", "enable_partitionwise_aggregate": "on"}

// Start starts all servers and fills the nodes.
func Start(ctx context.Context, env *harness.Env, o Options) (*World, error) {
	w := &World{orders: o.Orders, Nodes: make([]*Node, o.Nodes)}
	errs := make([]error, o.Nodes+1)
	var all sync.WaitGroup
	for i := range w.Nodes {
		all.Go(func() {
			first, last := w.orderRange(i)
			w.Nodes[i], errs[i] = start(ctx, env, o.Settings, o.Daemon, Tables("", first, last)+Customers)
		})
	}
	all.Go(func() {
		settings := maps.Clone(coordinator)
		maps.Copy(settings, o.Settings)
		tables := Customers
		if o.Replica {
			tables += Tables("", 1, o.Nodes*o.Orders)
		}
		w.Coordinator, errs[o.Nodes] = start(ctx, env, settings, o.Daemon, tables)
	})
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

func start(ctx context.Context, env *harness.Env, settings harness.Settings, daemon harness.DaemonOptions, tables string) (*Node, error) {
	pair, err := env.StartPair(settings, daemon)
	if err != nil {
		return nil, err
	}
	n := &Node{Pair: pair}
	if n.Session, err = pair.Cluster.Connect(ctx); err == nil {
		err = n.Session.Exec(ctx, "create extension gpujoin; set gpujoin.enabled = off;"+tables)
	}
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

func (n *Node) stop() error {
	var err error
	if n.Session != nil {
		err = n.Session.Close()
	}
	return errors.Join(err, n.Pair.Stop())
}

// Stop stops everything that has started.
func (w *World) Stop() error {
	var errs []error
	for _, n := range append(slices.Clone(w.Nodes), w.Coordinator) {
		if n != nil {
			errs = append(errs, n.stop())
		}
	}
	return errors.Join(errs...)
}

// orderRange returns the keys of the first and the last order of node i.
func (w *World) orderRange(i int) (first, last int) { return i*w.orders + 1, (i + 1) * w.orders }

// Attach makes, in a schema of the coordinator, the partitioned tables orders and lineitem
// whose partitions orders_1, lineitem_1, orders_2 and so on are the tables of the nodes.
// The sessions on the nodes have these settings, such as "-c cursor_tuple_fraction=1".
func (w *World) Attach(ctx context.Context, schema, settings string) error {
	var sql strings.Builder
	fmt.Fprintf(&sql, `create extension if not exists postgres_fdw; create schema %[1]s;
		create table %[1]s.orders (o_key bigint, o_cust bigint, o_priority text, o_price numeric(12,2)) partition by range (o_key);
		create table %[1]s.lineitem (l_order bigint, l_line int, l_flag text, l_price numeric(12,2)) partition by range (l_order);`, schema)
	for i, n := range w.Nodes {
		first, last := w.orderRange(i)
		fmt.Fprintf(&sql, `create server %[1]s_%[2]d foreign data wrapper postgres_fdw options (host '%[3]s', port '%[4]d', dbname 'postgres',
				options '%[5]s', fetch_size '10000', use_remote_estimate 'true', async_capable 'true');
			create user mapping for current_user server %[1]s_%[2]d options (user 'postgres');`, schema, i+1, n.Cluster.Sock, harness.Port, settings)
		for _, table := range []string{"orders", "lineitem"} {
			fmt.Fprintf(&sql, "create foreign table %[1]s.%[2]s_%[3]d partition of %[1]s.%[2]s for values from (%[4]d) to (%[5]d) server %[1]s_%[3]d options (schema_name 'public', table_name '%[2]s');",
				schema, table, i+1, first, last+1)
		}
	}
	return w.Coordinator.Session.Exec(ctx, sql.String())
}

// Jobs returns how many jobs each node's daemon has admitted so far.
func (w *World) Jobs(ctx context.Context) ([]int, error) {
	jobs := make([]int, len(w.Nodes))
	for i, n := range w.Nodes {
		var err error
		if jobs[i], err = n.Jobs(ctx); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// Jobs returns how many jobs the daemon has admitted so far.
func (n *Node) Jobs(ctx context.Context) (jobs int, err error) {
	text, err := n.Session.One(ctx, "select admitted from gpujoin.stat_daemon")
	if err == nil {
		_, err = fmt.Sscan(text, &jobs)
	}
	return jobs, err
}
