package worker

import (
	"context"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/executor"

	"google.golang.org/protobuf/proto"
)

// BenchmarkJob is a join of a hundred rows here and in a worker: the difference
// is what a worker costs every job. wake-up is an empty call.
func BenchmarkJob(b *testing.B) {
	r := start(b, "cpu", nil).ready()
	plan, inputs := explosion(100, 100)
	sink := newSink(r.account, plan, 1<<20)
	job, free := r.job(plan, inputs, sink)
	defer free()
	options := exec.Options{Device: device.Options{Streams: 2, ChunkRows: 256}}
	local := executor.NewLocal(cpu.New(), func() exec.Options { return options }, "")
	for name, do := range map[string]func() error{
		"local":   func() error { return local.Run(b.Context(), job, &joincore.Stats{}) },
		"worker":  func() error { return r.remote.Run(b.Context(), job, &joincore.Stats{}) },
		"wake-up": func() error { p, _ := r.remote.current(); _, err := p.status(b.Context(), quick.Silence); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBatches is the control traffic of results: batches that are asked
// for, granted and emitted. How full they are does not matter to it.
func BenchmarkBatches(b *testing.B) {
	r := start(b, "cpu", nil).ready()
	const rows, perBatch = 50_000, 50
	plan, inputs := explosion(rows, rows)
	sink := newSink(r.account, plan, perBatch)
	sink.window = make(chan struct{}, 16)
	job, free := r.job(plan, inputs, &throwAway{sink})
	defer free()
	for b.Loop() {
		if err := r.remote.Run(b.Context(), job, &joincore.Stats{}); err != nil {
			b.Fatal(err)
		}
	}
	perSecond := float64(b.N) * rows / perBatch / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "batches/s")
	b.ReportMetric(perSecond*4/1024, "GB/s-of-4MB")
}

// throwAway does not look at rows.
type throwAway struct{ *sink }

func (s *throwAway) Emit(_ context.Context, b *joincore.Batch, _ int, _ []int) error {
	s.Discard(b)
	return nil
}

// BenchmarkEncode is what a job costs whose inputs have many segments.
func BenchmarkEncode(b *testing.B) {
	for _, segments := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(segments), func(b *testing.B) {
			r := start(b, "cpu", nil)
			plan, inputs := explosion(10, 10)
			job, free := r.job(plan, inputs, nil)
			defer free()
			for len(job.Inputs[0].Segments) < segments {
				job.Inputs[0].Segments = append(job.Inputs[0].Segments, job.Inputs[0].Segments[0])
			}
			for b.Loop() {
				start, err := encodeJob(job)
				if err == nil {
					_, err = proto.Marshal(start)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
