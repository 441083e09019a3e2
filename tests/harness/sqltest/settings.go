package sqltest

import (
	"maps"

	"gpujoin/tests/harness"
)

// Settings returns the server's settings: they allow parallel plans for small tables, and
// leave aggregations above joins to PostgreSQL, so that joined rows return. more overrides
// them.
func Settings(more harness.Settings) harness.Settings {
	s := harness.Settings{
		"shared_buffers":                   "128MB",
		"max_connections":                  "80",
		"max_worker_processes":             "16",
		"max_parallel_workers":             "16",
		"parallel_setup_cost":              "0",
		"parallel_tuple_cost":              "0",
		"min_parallel_table_scan_size":     "0",
		"client_connection_check_interval": "'100ms'",
		"gpujoin.enable_aggregates":        "off",
	}
	maps.Copy(s, more)
	return s
}

// DaemonOptions returns the daemon's options, for many small extents and a quick start; more
// overrides them.
func DaemonOptions(more harness.DaemonOptions) harness.DaemonOptions {
	o := harness.DaemonOptions{
		"extent-size":   "1MB",
		"memory-budget": "512MB",
		"memory-warm":   "16MB",
		"calibrate":     "false",
		"log-level":     "debug",
	}
	maps.Copy(o, more)
	return o
}
