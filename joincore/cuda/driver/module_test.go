//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLaunch(t *testing.T) {
	c, s := open(t)
	k := kernel(t, c, addPTX, "add")
	if k.Threads != 128 || k.Blocks != 2 || k.Shared != 0 || k.Rows != 7 || k.Fan != 9 {
		t.Errorf("launch facts: %+v", k)
	}
	a := arena(t, c, 1<<20)
	for _, n := range []int{1, 31, 32, 33, 127, 128, 129, 10_000} {
		host, err := c.Pinned(int64(8 * n))
		must(t, err)
		want := make([]uint64, n)
		for i := range want {
			host.Words()[i] = rand.Uint64()
			want[i] = host.Words()[i] + 5
		}
		p, err := a.Take(int64(8 * n))
		must(t, err)
		must(t, s.CopyIn(p, host.Bytes()), k.Launch(s, (n+127)/128, uint64(p), uint64(n), 5), s.CopyOut(host.Bytes(), p), s.Sync(t.Context()))
		if !slices.Equal(host.Words(), want) {
			t.Errorf("%d numbers: wrong sums", n)
		}
		must(t, host.Free())
	}
	if err := k.LaunchShared(s, 1, c.Info().SharedOptin, 0, 0, 0); err != nil {
		t.Errorf("all shared memory: %v", err)
	}
	if err := k.LaunchShared(s, 1, c.Info().SharedOptin+1, 0, 0, 0); err == nil {
		t.Error("more shared memory than there is")
	}
	must(t, s.Sync(t.Context()))
	if c.Lost() != nil {
		t.Errorf("context lost: %v", c.Lost())
	}
}

// TestCompile: PTX becomes machine code while launches go on, and what is wrong with it
// is said.
func TestCompile(t *testing.T) {
	c, s := open(t)
	other := kernel(t, c, addPTX, "add")
	a := arena(t, c, 1<<20)
	p, err := a.Take(8)
	must(t, err)
	must(t, s.Memset(p, 0, 8))
	long := addPTX
	for i := range 200 { // kernels, so that the compiler works for a while
		name := fmt.Sprint("add_", i)
		long += strings.NewReplacer("add_launch", name+"_launch", "entry add(", "entry "+name+"(").Replace(addPTX[len(header):])
	}
	type compiled struct {
		code []byte
		err  error
	}
	done := make(chan compiled)
	start := time.Now()
	go func() {
		code, err := c.Compile(long)
		done <- compiled{code, err}
	}()
	var made compiled
	launches, longest := uint64(0), time.Duration(0)
	for running := true; running; launches++ {
		before := time.Now()
		must(t, other.Launch(s, 1, uint64(p), 1, 1), s.Sync(t.Context()))
		longest = max(longest, time.Since(before))
		select {
		case made = <-done:
			running = false
		default:
		}
	}
	must(t, made.err)
	t.Logf("compiled in %v; of %d launches meanwhile the longest took %v", time.Since(start), launches, longest)
	m, err := c.Load(made.code)
	must(t, err)
	k, err := m.Kernel("add")
	must(t, err)
	host, err := c.Pinned(8)
	must(t, err)
	must(t, k.Launch(s, 1, uint64(p), 1, 1000), s.CopyOut(host.Bytes(), p), s.Sync(t.Context()))
	if got := host.Words()[0]; got != launches+1000 {
		t.Errorf("%d, want %d", got, launches+1000)
	}
	must(t, host.Free(), m.Unload())
	if _, err := c.Compile(header + ".visible .entry wrong() { nothing; }"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("the error of wrong PTX is %v", err)
	}
	if c.Lost() != nil {
		t.Errorf("context lost: %v", c.Lost())
	}
}

// TestHashSeed: a module whose kernels hash gets its context's seed, which differs from
// process to process; other modules need none.
func TestHashSeed(t *testing.T) {
	c, _ := open(t)
	for _, name := range []string{hashSeed, "another"} {
		image := []byte(addPTX + "\n.visible .const .align 8 .u64 " + name + ";\n")
		seeds := []uint64{c.HashSeed(), 0, 1, 1<<63 | 7}
		for i, seed := range seeds {
			if i > 0 {
				c.SetHashSeed(seed)
			}
			m, err := c.Load(image)
			must(t, err)
			got, err := m.Constants(name)
			must(t, err)
			if want := map[bool]uint64{true: seed}[name == hashSeed]; len(got) != 1 || got[0] != want {
				t.Errorf("%s is %#x, not %#x", name, got, want)
			}
			must(t, m.Unload())
		}
		c.SetHashSeed(seeds[0])
	}
	if processSeed == 0 {
		t.Error("no seed was drawn")
	}
}

func TestMissingKernel(t *testing.T) {
	c, _ := open(t)
	m, err := c.Load([]byte(addPTX))
	must(t, err)
	defer m.Unload()
	var e *Error
	if _, err := m.Kernel("subtract"); !errors.As(err, &e) || e.Sticky() || !strings.Contains(err.Error(), "subtract") {
		t.Errorf("missing kernel: %v", err)
	}
	if _, err := c.Load([]byte("no code")); err == nil {
		t.Error("loaded what is no code")
	}
}

// Each kernel of a library is loaded once, from its own image.
func TestLibrary(t *testing.T) {
	c, _ := open(t)
	var asked []string
	missing := errors.New("no such kernel")
	l := c.NewLibrary(func(kernel string) ([]byte, error) {
		asked = append(asked, kernel)
		switch kernel {
		case "add":
			return []byte(addPTX), nil
		case "broken":
			return []byte("no code"), nil
		}
		return nil, missing
	})
	k, err := l.Kernel("add")
	if must(t, err); k.Threads != 128 {
		t.Errorf("launch facts: %+v", k)
	}
	if again, err := l.Kernel("add"); err != nil || again != k {
		t.Errorf("another kernel the second time: %v", err)
	}
	if _, err := l.Kernel("subtract"); !errors.Is(err, missing) {
		t.Errorf("missing kernel: %v", err)
	}
	if _, err := l.Kernel("broken"); err == nil {
		t.Error("loaded what is no code")
	}
	if want := []string{"add", "subtract", "broken"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v in place of %v", asked, want)
	}
	must(t, l.Unload())
}
