// Command bench measures PostgreSQL with the extension and the daemon, and simulates
// several GPUs. It needs no GPU.
package main

import (
	"os"

	"gpujoin/tests/bench/ablation"
	"gpujoin/tests/bench/join"
	"gpujoin/tests/bench/kept"
	"gpujoin/tests/bench/load"
	"gpujoin/tests/bench/mirror"
	"gpujoin/tests/bench/record"
	"gpujoin/tests/bench/report"
	"gpujoin/tests/bench/scaleout"
	"gpujoin/tests/bench/sim"
	"gpujoin/tests/command"
	"gpujoin/tests/tpcds"
	"gpujoin/tests/tpch"
)

func main() {
	command.Main("bench", os.Args[1:], []command.Subcommand{
		{Name: "join", Purpose: "joins of large tables, feeds, the cost of planning", Run: join.Run},
		{Name: "kept", Purpose: "columns that the daemon keeps: what they cost and gain", Run: kept.Run},
		{Name: "load", Purpose: "joins and short transactions of many clients", Run: load.Run},
		{Name: "mirror", Purpose: "mirrors of another server's tables: load, stream, lag, costs", Run: mirror.Run},
		{Name: "scale-out", Purpose: "tables whose rows several servers share, through postgres_fdw", Run: scaleout.Run},
		{Name: "tpch", Purpose: "the queries of TPC-H", Run: tpch.Run},
		{Name: "tpcds", Purpose: "the queries of TPC-DS", Run: tpcds.Run},
		{Name: "ablation", Purpose: "what each correction of the cost model gains", Run: ablation.Run},
		{Name: "record", Purpose: "keep a result in bench/results", Run: record.Run},
		{Name: "report", Purpose: "make the documents that show recorded results", Run: report.Run},
		{Name: "sim", Purpose: "figures of the MG-Join paper, in the simulator", Run: sim.Run},
	})
}
