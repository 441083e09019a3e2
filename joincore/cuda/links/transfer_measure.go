//go:build cuda

package links

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// MethodsConfig says what to measure.
type MethodsConfig struct {
	Ordinal int     // of the device
	Sizes   []int64 // bytes, whole pages
	Repeats int     // timed transfers; one untimed transfer precedes them
	Threads int     // for staging; 0: one per core, at most 8
	Unified bool    // include methods that migrate pages

	buffer int64 // bytes of each staging buffer; 0: stagedBuffer
	piece  int64 // bytes of each temporarily page-locked piece; 0: dynamicPiece
}

const (
	stagedBuffer = 4 << 20
	dynamicPiece = 64 << 20
)

// errWrong: other bytes arrived than were sent.
var errWrong = errors.New("the copied bytes are wrong")

// MeasureMethods times each method of the platform, in each direction and size. It verifies
// every transfer by a sum at the destination; a row's time is the median. After an
// error the report has the rows measured before it.
func MeasureMethods(ctx context.Context, cfg MethodsConfig) (_ *MethodsReport, err error) {
	if len(cfg.Sizes) == 0 || cfg.Repeats < 1 {
		return nil, errors.New("no sizes or no repeats to measure")
	}
	for _, n := range cfg.Sizes {
		if n <= 0 || n%4096 != 0 {
			return nil, fmt.Errorf("%d bytes are not whole pages", n)
		}
	}
	cfg.Threads = cmp.Or(cfg.Threads, min(runtime.NumCPU(), 8))
	cfg.buffer, cfg.piece = cmp.Or(cfg.buffer, stagedBuffer), cmp.Or(cfg.piece, dynamicPiece)
	b, err := openBench(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	info := b.device.Info()
	report := &MethodsReport{
		Device: info.Name, Driver: fmt.Sprintf("%d.%d", info.Driver/1000, info.Driver%1000/10), Repeats: cfg.Repeats,
		Platform: b.platform, Registered: b.platform.Choose(true), Unregistered: b.platform.Choose(false),
	}
	report.Rows, err = b.rows(ctx)
	markBest(report.Rows)
	return report, err
}

// rows measures everything. An absent method has one row for all sizes and directions
// for which it is absent.
func (b *bench) rows(ctx context.Context) (rows []MethodResult, err error) {
	said := map[MethodResult]bool{}
	for _, n := range b.Sizes {
		for _, m := range Methods() {
			why := b.platform.Absent(m, n, b.Unified)
			for _, d := range directions(m) {
				if ctx.Err() != nil {
					return rows, context.Cause(ctx)
				}
				row := MethodResult{Method: m, Note: why}
				if why == "" {
					if row, err = b.row(ctx, m, d, n); err != nil {
						return rows, fmt.Errorf("%s %s, %s: %w", m, d, sizeText(n), err)
					}
				}
				if !said[row] {
					said[row] = !row.measured()
					rows = append(rows, row)
				}
			}
		}
	}
	return rows, nil
}

// directions returns the directions in which a method is measured. Managed pages return
// by the same method.
func directions(m Method) []Direction {
	if m == Prefetch || m == Migration {
		return []Direction{In}
	}
	return []Direction{In, Out}
}

// row measures one method. If the platform refuses a method that it should support, the
// row's note says why.
func (b *bench) row(ctx context.Context, m Method, d Direction, n int64) (_ MethodResult, err error) {
	t, err := b.ready(m, n)
	if err != nil {
		return MethodResult{Method: m, Note: "refused: " + err.Error()}, b.device.Lost()
	}
	defer func() {
		err = errors.Join(err, b.stream.Sync(context.WithoutCancel(ctx)), t.close())
	}()
	b.seed++
	fillHost(t.near, b.seed, b.Threads)
	want := sumHost(t.near, b.Threads)
	if d == Out {
		if err := b.copies(t.near, closeNothing, "").move(ctx, In); err != nil {
			return MethodResult{}, err
		}
	}
	var ms []float64
	for range b.Repeats + 1 {
		took, err := b.once(ctx, t, d, want)
		if err != nil {
			return MethodResult{}, err
		}
		ms = append(ms, milliseconds(took))
	}
	return medianResult(m, d, n, ms[1:], t.note), nil
}

// once transfers the bytes to memory that has none of them, and verifies the result.
func (b *bench) once(ctx context.Context, t *trip, d Direction, want uint64) (time.Duration, error) {
	if err := b.clear(ctx, t, d); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := t.move(ctx, d); err != nil {
		return 0, err
	}
	took := time.Since(start)
	got := uint64(0)
	if d == Out {
		got = sumHost(t.near, b.Threads)
	} else {
		var err error
		if got, err = b.farSum(ctx, t.far, int64(len(t.near))); err != nil {
			return 0, err
		}
	}
	if got != want {
		return 0, errWrong
	}
	return took, nil
}

// clear overwrites the destination before a transfer.
func (b *bench) clear(ctx context.Context, t *trip, d Direction) error {
	if d == Out {
		poison(t.near, b.Threads)
		return nil
	}
	if err := b.stream.Memset(b.far, 0xff, int64(len(t.near))); err != nil {
		return err
	}
	if t.back != nil {
		return t.back(ctx)
	}
	return b.stream.Sync(ctx)
}
