//go:build cuda

package links

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/driver"
)

// Every method of the device moves the right bytes, otherwise Measure fails. Sizes are
// around those of staging buffers and page-locked pieces.
func TestEveryMethodMovesTheBytes(t *testing.T) {
	const page = 4096
	report, err := MeasureMethods(t.Context(), MethodsConfig{
		Sizes:   []int64{page, 3 * page, 4 * page, 5 * page, 8 * page, 9 * page, 1 << 20, 33 << 20},
		Repeats: 2, Unified: true, buffer: 4 * page, piece: 8 * page,
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, refused := map[Method]int{}, map[Method]bool{}
	for _, r := range report.Rows {
		rows[r.Method]++
		if r.measured() != (r.Share > 0 && r.Share <= 1) || !r.measured() && r.Note == "" {
			t.Errorf("a row that makes no sense: %+v", r)
		}
		if strings.HasPrefix(r.Note, "refused") {
			t.Logf("%s: %s", r.Method, r.Note) // a container may forbid what the device supports
			refused[r.Method] = true
		}
	}
	for _, m := range Methods() {
		switch want := 8 * len(directions(m)); {
		case refused[m]:
		case report.Platform.Absent(m, page, true) != "":
			if rows[m] != 1 {
				t.Errorf("%s is absent, but has %d rows", m, rows[m])
			}
		case rows[m] != want:
			t.Errorf("%s has %d rows in place of %d", m, rows[m], want)
		}
	}
	var table strings.Builder
	if err := report.Print(&table); err != nil {
		t.Error(err)
	}
	t.Logf("%+v\n%s", report.Platform, table.String())
}

// A transfer that omits bytes is detected.
func TestMissingBytesAreNoticed(t *testing.T) {
	b := smallConfig(t)
	for _, d := range []Direction{In, Out} {
		whole := b.copies(b.near, closeNothing, "")
		fillHost(b.near, 1, 2)
		want := sumHost(b.near, 2)
		if err := whole.move(t.Context(), In); err != nil {
			t.Fatal(err)
		}
		if _, err := b.once(t.Context(), whole, d, want); err != nil {
			t.Errorf("%s: %v", d, err)
		}
		part := b.copies(b.near[:len(b.near)-8], closeNothing, "")
		part.near = b.near
		if _, err := b.once(t.Context(), part, d, want); !errors.Is(err, errWrong) {
			t.Errorf("%s, the last word left out: %v", d, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureMethods(ctx, MethodsConfig{Sizes: []int64{64 << 20}, Repeats: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Threads move any number of bytes between addresses of any alignment, and no others.
func TestThreadsMove(t *testing.T) {
	b := smallConfig(t)
	r, err := b.device.Register(b.near)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	half := len(b.near) / 2
	source, target := b.near[:half], b.near[half:]
	for i := range source {
		source[i] = byte(rng.Uint32())
	}
	lengths := []int{0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, blockBytes - 1, blockBytes, blockBytes + 1, 5*blockBytes + 7, half - 64}
	for _, n := range lengths {
		for range 12 {
			from, to := rng.IntN(33), rng.IntN(33)
			poison(target, 1)
			want := bytes.Repeat([]byte{0xff}, half)
			copy(want[to:], source[from:from+n])
			host := r.DevicePointer()
			err := errors.Join(
				b.stream.Memset(b.far, 0, int64(half)),
				b.kernels.Move(b.stream, b.far+driver.Ptr(from), host+driver.Ptr(from), int64(n)),
				b.kernels.Move(b.stream, host+driver.Ptr(half+to), b.far+driver.Ptr(from), int64(n)),
				b.stream.Sync(t.Context()),
			)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(target, want) {
				t.Errorf("%d bytes from %d to %d", n, from, to)
			}
		}
	}
}

// Host and device compute the same sums.
func TestThreadsSum(t *testing.T) {
	b := smallConfig(t)
	fillHost(b.near, 3, 2)
	if err := b.copies(b.near, closeNothing, "").move(t.Context(), In); err != nil {
		t.Fatal(err)
	}
	for _, words := range []int{0, 1, 31, 32, 33, 255, 256, 257, 2048, 2049, len(b.near) / 8} {
		got, err := b.farSum(t.Context(), b.far, int64(8*words))
		if err != nil {
			t.Fatal(err)
		}
		if want := sumHost(b.near[:8*words], 2); got != want {
			t.Errorf("%d words: %x in place of %x", words, got, want)
		}
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, cfg := range []MethodsConfig{
		{Repeats: 1}, {Sizes: []int64{4096}}, {Sizes: []int64{4095}, Repeats: 1}, {Sizes: []int64{0}, Repeats: 1}, {Sizes: []int64{-4096}, Repeats: 1},
	} {
		if _, err := MeasureMethods(t.Context(), cfg); err == nil {
			t.Errorf("%+v was measured", cfg)
		}
	}
}

func smallConfig(t *testing.T) *bench {
	t.Helper()
	b, err := openBench(MethodsConfig{Sizes: []int64{2 << 20}, Repeats: 1, Threads: 2, buffer: 1 << 20, piece: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
