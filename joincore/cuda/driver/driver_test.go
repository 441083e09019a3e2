//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"gpujoin/joincore"
)

// Each test has its own kernels as PTX, so that it needs no compiler.
const header = ".version 7.0\n.target sm_80\n.address_size 64\n"

// add(out, n, x): out[i] += x for uint64[n].
const addPTX = header + `
.visible .const .align 8 .b64 add_launch[5] = {128, 2, 0, 7, 9};
.visible .entry add(.param .u64 out, .param .u64 n, .param .u64 x)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [n];
  ld.param.u64 %d3, [x];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  cvt.u64.u32 %d4, %r1;
  setp.ge.u64 %p, %d4, %d2;
  @%p bra done;
  shl.b64 %d5, %d4, 3;
  add.u64 %d5, %d5, %d1;
  ld.global.u64 %d6, [%d5];
  add.u64 %d6, %d6, %d3;
  st.global.u64 [%d5], %d6;
done:
  ret;
}
`

// fault(at) reads the address; spin(nanoseconds) runs for that time.
const faultPTX = header + `
.visible .const .align 8 .b64 fault_launch[5] = {1, 1, 0, 0, 0};
.visible .entry fault(.param .u64 at)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [at];
  ld.global.u64 %d2, [%d1];
  st.global.u64 [%d1], %d2;
  ret;
}
.visible .const .align 8 .b64 spin_launch[5] = {1, 1, 0, 0, 0};
.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [nanoseconds];
  mov.u64 %d2, %globaltimer;
again:
  mov.u64 %d3, %globaltimer;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %p, %d4, %d1;
  @%p bra again;
  ret;
}
`

func open(t *testing.T) (*Context, *Stream) {
	t.Helper()
	c, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return c, s
}

func arena(t *testing.T, c *Context, bytes int64) *Arena {
	t.Helper()
	a, err := c.NewArena(bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func kernel(t *testing.T, c *Context, ptx, name string) *Kernel {
	t.Helper()
	m, err := c.Load([]byte(ptx))
	must(t, err)
	t.Cleanup(func() { m.Unload() })
	k, err := m.Kernel(name)
	must(t, err)
	return k
}

func TestDevices(t *testing.T) {
	all, err := Devices()
	must(t, err)
	if len(all) == 0 {
		t.Fatal("no device")
	}
	for _, d := range all {
		t.Logf("%+v", d)
		if d.Name == "" || !strings.HasPrefix(d.UUID, "GPU-") || d.SMs == 0 || d.Memory == 0 || d.Major < 7 || d.SharedOptin < 48<<10 || d.Driver < 12000 || d.PCI == "" {
			t.Errorf("described incompletely: %+v", d)
		}
	}
}

func TestArenaIsAStackWithAnEnd(t *testing.T) {
	c, _ := open(t)
	a := arena(t, c, 10*Line)
	if a.Size() != 10*Line {
		t.Fatalf("size %d", a.Size())
	}
	first, err := a.Take(1)
	must(t, err)
	mark := a.Mark()
	second, err := a.Take(2 * Line)
	must(t, err)
	if first != a.Base() || second != first+Line || a.Free() != 7*Line {
		t.Errorf("taken at %d and %d, %d bytes free", first-a.Base(), second-a.Base(), a.Free())
	}
	end, err := a.Cut(Line + 1)
	must(t, err)
	if end != a.Base()+8*Line || a.Free() != 5*Line {
		t.Errorf("cut at %d, %d bytes free", end-a.Base(), a.Free())
	}
	if _, err := a.Take(5*Line + 1); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("more than there is: %v", err)
	}
	if _, err := a.Take(-1); err == nil {
		t.Error("a negative size was given")
	}
	part, err := a.Part(3 * Line)
	must(t, err)
	if _, err := part.Take(3*Line + 1); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("more than a part: %v", err)
	}
	a.Rewind(mark)
	a.Extend(Line + 1)
	again, err := a.Take(9 * Line)
	must(t, err)
	if again != second || a.Peak() != 10*Line {
		t.Errorf("after rewinding at %d, peak %d", again-a.Base(), a.Peak())
	}
}

func TestMoreThanTheDeviceHas(t *testing.T) {
	c, _ := open(t)
	free, err := c.FreeMemory()
	if must(t, err); free <= 0 || free > c.Info().Memory {
		t.Errorf("%d of %d bytes are free", free, c.Info().Memory)
	}
	if a, err := c.NewArena(c.Info().Memory + 1<<30); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("arena %v, error %v", a, err)
	}
	if c.Lost() != nil {
		t.Errorf("context lost: %v", c.Lost())
	}
}

func TestCopiesWithinTheDevice(t *testing.T) {
	c, s := open(t)
	a := arena(t, c, 1<<16)
	from, err := a.Take(1000)
	must(t, err)
	to, err := a.Take(1000)
	must(t, err)
	host, err := c.Pinned(1000)
	must(t, err)
	defer host.Free()
	must(t, s.Memset(to, 1, 1000), s.Memset(from, 7, 500), s.Copy(to, from, 499), s.CopyOut(host.Bytes(), to), s.Sync(t.Context()))
	if b := host.Bytes(); b[0] != 7 || b[498] != 7 || b[499] != 1 || b[999] != 1 {
		t.Errorf("copied %v, then %v", b[498], b[499])
	}
}

func TestRegister(t *testing.T) {
	c, s := open(t)
	mem, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	must(t, err)
	defer syscall.Munmap(mem)
	r, err := c.Register(mem)
	must(t, err)
	if _, err := c.Register(mem); err == nil {
		t.Error("registered twice")
	}
	mem[0], mem[1<<20-1] = 3, 4
	a := arena(t, c, 1<<20)
	p, err := a.Take(1 << 20)
	must(t, err)
	must(t, s.CopyIn(p, mem), s.Sync(t.Context()))
	clear(mem)
	must(t, s.CopyOut(mem, p), s.Sync(t.Context()))
	if mem[0] != 3 || mem[1<<20-1] != 4 {
		t.Error("copied wrongly")
	}
	k := kernel(t, c, addPTX, "add")
	must(t, k.Launch(s, 1, uint64(r.DevicePointer()), 1, 1), s.Sync(t.Context()))
	if mem[0] != 4 {
		t.Errorf("a kernel wrote %d over the link", mem[0])
	}
	must(t, r.Close())
	again, err := c.Register(mem)
	must(t, err, again.Close())
}

// TestSticky runs itself in a separate process, whose context it makes fail.
func TestSticky(t *testing.T) {
	if os.Getenv("GPUJOIN_TEST_FAULT") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSticky$", "-test.v")
		cmd.Env = append(os.Environ(), "GPUJOIN_TEST_FAULT=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "context lost as expected") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	c, err := Open(0)
	must(t, err)
	s, err := c.NewStream()
	must(t, err)
	k := kernel(t, c, faultPTX, "fault")
	must(t, k.Launch(s, 1, 64))
	err = s.Sync(t.Context())
	var e *Error
	if !errors.As(err, &e) || !e.Sticky() || !errors.Is(c.Lost(), err) {
		t.Fatalf("reading address 64: %v, lost %v", err, c.Lost())
	}
	if _, err := c.NewStream(); err == nil {
		t.Fatal("the context works again")
	}
	fmt.Println("context lost as expected:", err)
}
