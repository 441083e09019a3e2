//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/measure"
)

// onHost are the shares of a hybrid table's units that are on the host. The first two are those of which the rates give
// the others: none, and all.
var onHost = []float64{0, 1, 0.01, 0.02, 0.05, 0.1, 0.25}

// measureHybrid measures random reads of the same table with some of its units in page-locked memory of the host, by
// one device that has all rows, and by all of them at once. Beside the harmonic mean of the rates of either memory,
// which has a read wait for those before, stands what the paper says (Fast-IC, section 5.3): the mean
// of the rates.
func (b *bench) measureHybrid(ctx context.Context, d *devices, parts []columnar.Join) error {
	rows := []string{"devices that probe\ton the host\tG reads/s\tformula\tof it\tpaper's J\tbuild, ms\tbar"}
	one := []columnar.Join{d.data.Join}
	for _, of := range [][]columnar.Join{one, parts} {
		var device, host float64
		for _, share := range onHost {
			rate, hosted, build, ms, err := b.timeHybrid(ctx, d, of, share)
			if err != nil {
				return fmt.Errorf("%g %% of a table on the host: %w", 100*share, err)
			}
			formula, mean := rate, rate
			switch share {
			case 0:
				device = rate
			case 1:
				host = rate
			default:
				formula, mean = costmodel.HostedRate(1-hosted, device, host), costmodel.MeanRate(1-hosted, device, host)
			}
			verdict := ""
			if bar := measure.BarOf(suite, "hybrid", ofFormula); bar.Exists() && share > 0 && share < 1 {
				verdict = fmt.Sprintf("%v %s: %v", bar, ofFormula, !b.misses("hybrid", ofFormula, rate/formula))
			}
			rows = append(rows, fmt.Sprintf("%d\t%.1f %%\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%s", len(of), 100*hosted, rate, formula, rate/formula, mean, build, verdict))
			b.results = append(b.results, measure.Result{
				Name: "hybrid", Engine: fmt.Sprintf("%d of %d devices, %s %% on the host", len(of), len(d.members), strconv.FormatFloat(100*share, 'f', 0, 64)), Ms: ms,
				Values: map[string]float64{
					"G reads/s": measure.Round(rate, 3), "formula": measure.Round(formula, 3), ofFormula: measure.Round(rate/formula, 3),
					"paper's J": measure.Round(mean, 3), "on the host": measure.Round(hosted, 4), "build ms": measure.Round(build, 1),
				},
			})
		}
	}
	fmt.Println()
	return measure.Table(os.Stdout, rows...)
}

// timeHybrid is timeSpread with a share of the units on the host, which it returns as well.
func (b *bench) timeHybrid(ctx context.Context, d *devices, parts []columnar.Join, share float64) (rate, hosted, build float64, ms []float64, err error) {
	var host *driver.Host
	defer func() { err = errors.Join(err, host.Free()) }()
	members := spreadMembers(d, parts)
	where := columnar.Placing{
		On: func(units int, _ []int) []int {
			place, devices := make([]int, units), 0
			for u := range place {
				if int(float64(u+1)*share) > int(float64(u)*share) {
					place[u] = costmodel.OnHost
					continue
				}
				place[u] = devices % len(parts)
				devices++
			}
			hosted = costmodel.Locality(place, costmodel.OnHost)
			return place
		},
		Host: func(bytes int64) (_ []byte, err error) {
			if host, err = members[0].Device.Pinned(bytes); err != nil {
				return nil, err
			}
			return host.Bytes(), nil
		},
	}
	rate, build, ms, err = b.timeSpread(ctx, d, members, parts, len(parts), where)
	return rate, hosted, build, ms, err
}
