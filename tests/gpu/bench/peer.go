//go:build cuda

package bench

import (
	"context"
	"errors"
	"os"
	"time"

	"gpujoin/tests/gpu/bench/gje"
)

// addPeers runs GPU-Joins-Evaluation's executables on all cases, adds their
// times to the results and prints the comparison, even after an interruption.
func addPeers(ctx context.Context, directory string, limit time.Duration, list []join, results []result) error {
	var cases []gje.Case
	for _, c := range list {
		cases = append(cases, gje.Case{
			Name: c.name, Build: c.Build, Probe: c.Probe, Key: c.Key, BuildWidths: c.BuildWidths, ProbeWidths: c.ProbeWidths,
			Distinct: c.Distinct, Domain: c.Domain, Zipf: c.Zipf,
		})
	}
	times, err := gje.Run(ctx, directory, limit, cases, os.Stderr)
	var ours []gje.Ours
	for i := range results {
		r := &results[i]
		o := gje.Ours{Case: r.Case, Algorithm: r.Algorithm, MS: r.MS, Chosen: r.Chosen}
		r.PeerMS = gje.Peer(o, times)
		ours = append(ours, o)
	}
	return errors.Join(err, gje.Print(os.Stdout, ours, times))
}
