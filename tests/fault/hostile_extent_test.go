package fault

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"gpujoin/shm"
	"gpujoin/tests/harness"
)

// extentSize is the size in sqltest.DaemonOptions.
const extentSize = 1 << 20

func pipeEnd(t *testing.T) int {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Error(err)
	}
	_ = unix.Close(fds[1]) // one end suffices
	return fds[0]
}

func opened(t *testing.T, path string, flags int) int {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
	}
	return fd
}

// memfd makes a memfd of a size with seals, and with pages if allocated.
func memfd(t *testing.T, size int64, seals int, allocated bool) int {
	fd, err := unix.MemfdCreate("hostile", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		err = unix.Ftruncate(fd, size)
	}
	if err == nil && allocated {
		err = unix.Fallocate(fd, 0, 0, size)
	}
	if err == nil && seals != 0 {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		t.Error(err)
	}
	return fd
}

// Descriptors that are not extents. Copies have the extent's content, so that
// they are otherwise valid.
var noExtents = []struct {
	name   string
	copied bool
	make   func(t *testing.T) int
}{
	{"pipe", false, pipeEnd},
	{"device", false, func(t *testing.T) int { return opened(t, "/dev/zero", unix.O_RDWR) }},
	{"directory", false, func(t *testing.T) int { return opened(t, "/", unix.O_RDONLY) }},
	{"path", false, func(t *testing.T) int { return opened(t, "/dev/zero", unix.O_PATH) }},
	{"socket", false, func(t *testing.T) int {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
		}
		return fd
	}},
	{"file of the right size", true, func(t *testing.T) int {
		f, err := os.CreateTemp(t.TempDir(), "extent")
		if err != nil {
			t.Error(err)
		}
		defer f.Close()
		if err := f.Truncate(extentSize); err != nil {
			t.Error(err)
		}
		return opened(t, f.Name(), unix.O_RDWR)
	}},
	{"memfd is not sealed", true, func(t *testing.T) int { return memfd(t, extentSize, 0, true) }},
	{"memfd that may shrink", true, func(t *testing.T) int {
		return memfd(t, extentSize, unix.F_SEAL_GROW|unix.F_SEAL_SEAL, true)
	}},
	{"memfd that may grow", true, func(t *testing.T) int {
		return memfd(t, extentSize, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL, true)
	}},
	{"memfd whose seals are open", true, func(t *testing.T) int {
		return memfd(t, extentSize, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, true)
	}},
	{"empty memfd", false, func(t *testing.T) int { return memfd(t, 0, shm.Seals, false) }},
	{"half a memfd", false, func(t *testing.T) int { return memfd(t, extentSize/2, shm.Seals, true) }},
	{"memfd a byte short", false, func(t *testing.T) int { return memfd(t, extentSize-1, shm.Seals, true) }},
	{"memfd twice as long", true, func(t *testing.T) int { return memfd(t, 2*extentSize, shm.Seals, true) }},
	{"sealed memfd of zeros", false, func(t *testing.T) int { return memfd(t, extentSize, shm.Seals, true) }},
	{"sealed memfd without pages", false, func(t *testing.T) int { return memfd(t, extentSize, shm.Seals, false) }},
	{"memfd that must not be written", false, func(t *testing.T) int {
		return memfd(t, extentSize, shm.Seals|unix.F_SEAL_WRITE, true)
	}},
}

// Descriptors that are not the daemon's extents, to be filled or read.
func TestHostileDescriptors(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, n := range noExtents {
		swap := func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			fds := make([]int, len(f.FDs()))
			for i, fd := range f.FDs() {
				fds[i] = n.make(t)
				if n.copied {
					mapped(t, fd, func(from []byte) { mapped(t, fds[i], func(to []byte) { copy(to, from) }) })
				}
			}
			f.SetFDs(fds...)
			return []*harness.Frame{f}, true
		}
		t.Run(n.name+" to fill", func(t *testing.T) { v.suffers(t, harness.MsgGrant, 1, swap, rightRows, theSum) })
		t.Run(n.name+" to read", func(t *testing.T) { v.suffers(t, harness.MsgResult, 1, swap, rightRows, theSum) })
		t.Run(n.name+" to read later", func(t *testing.T) { v.suffers(t, harness.MsgResult, 3, swap, anError, theSum) })
	}
	w.unharmed(t, v.Session)
}

// An extent cannot be shrunk once the backend has it.
func TestExtentsKeepTheirSize(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, msg := range []int{harness.MsgGrant, harness.MsgResult} {
		v.suffers(t, msg, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			for _, fd := range f.FDs() {
				for _, size := range []int64{0, extentSize / 2, 2 * extentSize} {
					if err := unix.Ftruncate(fd, size); err != unix.EPERM {
						t.Errorf("an extent's size was set: %v", err)
					}
				}
			}
			return []*harness.Frame{f}, true
		}, rightRows, theSum)
	}
}

// mapped calls f with the extent's memory, which stays shared with the daemon.
func mapped(t *testing.T, fd int, f func(extent []byte)) {
	extent, err := unix.Mmap(fd, 0, extentSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Error(err)
		return
	}
	f(extent)
	if err := unix.Munmap(extent); err != nil {
		t.Error(err)
	}
}

// put writes an integer of n bytes.
func put(b []byte, at, n int, value uint64) {
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], value)
	copy(b[at:at+n], all[:n])
}

// column returns the offset of a batch column's header: theSum returns two
// fixed columns and one of text, in any order.
func column(extent []byte, encoding shm.Encoding) int {
	const batch, column = 32, 24
	for i := range int(binary.LittleEndian.Uint16(extent[6:])) {
		if at := batch + i*column; extent[at] == byte(encoding) {
			return at
		}
	}
	return batch
}

// batchLies are wrong headers of a batch and of its columns.
var batchLies = []struct {
	name string
	tell func(extent []byte)
}{
	{"magic", func(e []byte) { put(e, 0, 4, 0) }},
	{"magic of a part", func(e []byte) { put(e, 0, 4, shm.ChainMagic) }},
	{"version", func(e []byte) { put(e, 4, 2, shm.LayoutVersion+1) }},
	{"no columns", func(e []byte) { put(e, 6, 2, 0) }},
	{"65535 columns", func(e []byte) { put(e, 6, 2, 65535) }},
	{"no rows", func(e []byte) { put(e, 8, 4, 0) }},
	{"a row more", func(e []byte) { put(e, 8, 4, uint64(binary.LittleEndian.Uint32(e[8:]))+1) }},
	{"2^32 - 1 rows", func(e []byte) { put(e, 8, 4, 1<<32-1) }},
	{"flags", func(e []byte) { put(e, 12, 4, 1) }},
	{"more in use than there is", func(e []byte) { put(e, 16, 8, extentSize+1) }},
	{"2^64 - 1 in use", func(e []byte) { put(e, 16, 8, 1<<64-1) }},
	{"encoding 0", func(e []byte) { put(e, column(e, shm.EncFixed), 1, 0) }},
	{"text as fixed", func(e []byte) { put(e, column(e, shm.EncVarlena), 1, uint64(shm.EncFixed)) }},
	{"fixed as text", func(e []byte) { put(e, column(e, shm.EncFixed), 1, uint64(shm.EncVarlena)) }},
	{"align", func(e []byte) { put(e, column(e, shm.EncVarlena)+1, 1, 1) }},
	{"width 0", func(e []byte) { put(e, column(e, shm.EncFixed)+2, 2, 0) }},
	{"width 65535", func(e []byte) { put(e, column(e, shm.EncFixed)+2, 2, 65535) }},
	{"more NULLs than rows", func(e []byte) { put(e, column(e, shm.EncFixed)+4, 4, 1<<32-1) }},
	{"NULLs without a bitmap", func(e []byte) {
		put(e, column(e, shm.EncFixed)+4, 4, 1)
		put(e, column(e, shm.EncFixed)+12, 4, 0)
	}},
	{"bitmap outside", func(e []byte) {
		put(e, column(e, shm.EncFixed)+4, 4, 1)
		put(e, column(e, shm.EncFixed)+12, 4, extentSize)
	}},
	{"bitmap at the very end", func(e []byte) {
		put(e, column(e, shm.EncFixed)+4, 4, 1)
		put(e, column(e, shm.EncFixed)+12, 4, extentSize-64)
	}},
	{"values unaligned", func(e []byte) { put(e, column(e, shm.EncFixed)+8, 4, 65) }},
	{"values outside", func(e []byte) { put(e, column(e, shm.EncFixed)+8, 4, extentSize) }},
	{"values at the very end", func(e []byte) { put(e, column(e, shm.EncFixed)+8, 4, extentSize-64) }},
	{"values at 4 GiB", func(e []byte) { put(e, column(e, shm.EncFixed)+8, 4, 1<<32-64) }},
	{"offsets outside", func(e []byte) { put(e, column(e, shm.EncVarlena)+8, 4, extentSize-64) }},
	{"heap outside", func(e []byte) { put(e, column(e, shm.EncVarlena)+16, 4, extentSize) }},
	{"heap of 4 GiB", func(e []byte) { put(e, column(e, shm.EncVarlena)+20, 4, 1<<32-1) }},
	{"heap that wraps around", func(e []byte) {
		put(e, column(e, shm.EncVarlena)+16, 4, 1<<32-64)
		put(e, column(e, shm.EncVarlena)+20, 4, 128)
	}},
	{"heap shorter than its values", func(e []byte) { put(e, column(e, shm.EncVarlena)+20, 4, 0) }},
}

// Batches with wrong headers, as the first and as later ones.
func TestHostileBatches(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, b := range batchLies {
		l := func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			mapped(t, f.FDs()[0], b.tell)
			return []*harness.Frame{f}, true
		}
		t.Run(b.name+", first", func(t *testing.T) { v.suffers(t, harness.MsgResult, 1, l, rightRows, theSum) })
		t.Run(b.name+", third", func(t *testing.T) { v.suffers(t, harness.MsgResult, 3, l, anError, theSum) })
	}
	for _, rows := range []uint64{0, 1, 1<<31 - 1, 1<<32 - 1} {
		t.Run(fmt.Sprintf("RESULT of %d rows", rows), func(t *testing.T) {
			v.suffers(t, harness.MsgResult, 1, edit(func(f *harness.Frame) { put(f.Body(), 8, 4, rows) }), rightRows, theSum)
		})
		if rows <= 1 {
			continue
		}
		t.Run(fmt.Sprintf("RESULT and batch of %d rows", rows), func(t *testing.T) {
			v.suffers(t, harness.MsgResult, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
				put(f.Body(), 8, 4, rows)
				mapped(t, f.FDs()[0], func(e []byte) { put(e, 8, 4, rows) })
				return []*harness.Frame{f}, true
			}, rightRows, theSum)
		})
	}
	w.unharmed(t, v.Session)
}

// text returns the offsets and the heap of a batch's text column.
func text(e []byte) (offsets, heap []byte) {
	at := column(e, shm.EncVarlena)
	values, off := binary.LittleEndian.Uint32(e[at+8:]), binary.LittleEndian.Uint32(e[at+16:])
	rows := binary.LittleEndian.Uint32(e[8:])
	return e[values : values+4*(rows+1)], e[off : off+binary.LittleEndian.Uint32(e[at+20:])]
}

// valueLies are wrong values. Values are checked one by one: rows before the
// wrong one are returned, the wrong one never.
var valueLies = []struct {
	name string
	tell func(offsets, heap []byte)
}{
	{"decreasing", func(o, h []byte) { put(o, 4*100, 4, 0) }},
	{"equal", func(o, h []byte) { copy(o[4*100:4*101], o[4*99:]) }},
	{"behind the heap", func(o, h []byte) { put(o, 4*100, 4, uint64(len(h))+4) }},
	{"4 GiB", func(o, h []byte) { put(o, 4*100, 4, 1<<32-1) }},
	{"the last behind the heap", func(o, h []byte) { put(o, len(o)-4, 4, uint64(len(h))+4) }},
	{"unaligned", func(o, h []byte) { put(o, 4*100, 4, uint64(binary.LittleEndian.Uint32(o[4*100:]))+1) }},
	{"a value longer than its place", func(o, h []byte) { h[binary.LittleEndian.Uint32(o[4*100:])] = 0xff }},
	{"a length of 1 GiB", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 4, 0xfffffffc) }},
	{"a length of 0", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 4, 0) }},
	{"a compressed value", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 4, 20<<2|2) }},
	{"a TOAST pointer", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 2, 0x1201) }},
	{"an expanded object", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 2, 0x0301) }},
	{"an indirect pointer", func(o, h []byte) { put(h, int(binary.LittleEndian.Uint32(o[4*100:])), 2, 0x0101) }},
	{"a chain that is not there", func(o, h []byte) { chainRef(o, h, 0, 77, 5000) }},
	{"a chain's end at 4 GiB", func(o, h []byte) { chainRef(o, h, 1<<32-1, 77, 5000) }},
	{"a value of 1 GiB in a chain", func(o, h []byte) { chainRef(o, h, 0, 77, 1<<30) }},
	{"a value of 2^64 - 1 bytes in a chain", func(o, h []byte) { chainRef(o, h, 0, 77, 1<<64-1) }},
	{"a value of 2 bytes in a chain", func(o, h []byte) { chainRef(o, h, 0, 77, 2) }},
}

func chainRef(offsets, heap []byte, offset, chain, length uint64) {
	at := int(binary.LittleEndian.Uint32(offsets[4*100:]))
	put(heap, at, 4, shm.ChainRefByte|shm.ChainRefTag<<8)
	put(heap, at+4, 4, offset)
	put(heap, at+8, 8, chain)
	put(heap, at+16, 8, length)
}

func TestHostileValues(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, c := range valueLies {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, batch %d", c.name, nth), func(t *testing.T) {
				v.suffers(t, harness.MsgResult, nth, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
					mapped(t, f.FDs()[0], func(e []byte) { c.tell(text(e)) })
					return []*harness.Frame{f}, true
				}, anError, theSum)
			})
		}
	}
	w.unharmed(t, v.Session)
}

// A value of type name ends before its 64th byte, whoever sends it, because
// code that prints it relies on the terminator.
func TestHostileNames(t *testing.T) {
	w := theWorld(t)
	const sql = "select n.name, d.v from named n join dim d on n.k = d.k"
	v := newVictim(t, w, sql)
	v.suffers(t, harness.MsgResult, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		mapped(t, f.FDs()[0], func(e []byte) {
			for i := 128; i < len(e); i++ {
				e[i] = 'x'
			}
		})
		return []*harness.Frame{f}, true
	}, rightRows, sql)
	w.unharmed(t, v.Session)
}

// A writer that keeps changing headers and offsets after it has announced a batch.
func TestRacingWriter(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for round := range 20 {
		stop, stopped := make(chan struct{}), make(chan struct{})
		started := false
		w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
			if f.Type != harness.MsgResult || started {
				return []*harness.Frame{f}, true
			}
			started = true
			fd, err := unix.FcntlInt(uintptr(f.FDs()[0]), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				t.Error(err)
				return []*harness.Frame{f}, true
			}
			go func() {
				defer close(stopped)
				defer unix.Close(fd)
				mapped(t, fd, func(e []byte) { race(e, round, stop) })
			}()
			return []*harness.Frame{f}, true
		})
		a := <-ask(v.Session, theSum)
		w.Proxy.Rewrite(nil)
		close(stop)
		if started {
			<-stopped
		}
		if a.err != nil {
			lost(t, a.err) // or values of other rows, which cannot be detected
		}
		v.recovers(t)
	}
	w.unharmed(t, v.Session)
}

// race switches headers and offsets between valid and invalid.
func race(e []byte, round int, stop <-chan struct{}) {
	header := slices.Clone(e[:32+3*24])
	offsets, _ := text(e)
	saved := slices.Clone(offsets)
	for {
		select {
		case <-stop:
			copy(e, header)
			return
		default:
		}
		for i := range header {
			if round%2 == 0 {
				e[i] = 0xff
			}
		}
		for i := 4; i < len(offsets); i += 4 * 7 {
			put(offsets, i, 4, uint64(1<<32-1-round))
		}
		copy(offsets, saved)
		copy(e, header)
	}
}

// Extents of chains other than those requested.
func TestHostileChains(t *testing.T) {
	w := theWorld(t)
	const sql = "select b.k, md5(b.value), d.v from big b join dim d on b.k = d.k"
	v := newVictim(t, w, sql)
	for _, c := range []struct {
		name string
		lie  lie
	}{
		{"announced: another extent of the chain", edit(func(f *harness.Frame) { f.Body()[8]++ })},
		{"announced: another chain", edit(func(f *harness.Frame) { f.Body()[12]++ })},
		{"announced: no bytes", edit(func(f *harness.Frame) { put(f.Body(), 16, 4, 0) })},
		{"announced: 4 GiB", edit(func(f *harness.Frame) { put(f.Body(), 16, 4, 1<<32-1) })},
		{"announced: reserved", edit(func(f *harness.Frame) { put(f.Body(), 20, 4, 1) })},
		{"magic", inPart(func(e []byte) { put(e, 0, 4, shm.BatchMagic) })},
		{"version", inPart(func(e []byte) { put(e, 4, 2, 9) })},
		{"reserved", inPart(func(e []byte) { put(e, 6, 2, 1) })},
		{"another extent of the chain", inPart(func(e []byte) { e[8]++ })},
		{"another chain", inPart(func(e []byte) { e[12]++ })},
		{"bytes over the extent", inPart(func(e []byte) { put(e, 16, 4, 1<<32-1) })},
		{"bytes over the extent, as announced", chainOf(1<<32 - 1)},
		{"fewer bytes", inPart(func(e []byte) { put(e, 16, 4, 10) })},
		{"fewer bytes than the value has, as announced", chainOf(10)},
		{"no bytes, as announced", chainOf(0)},
		{"value's own length", inPart(func(e []byte) { put(e, shm.ChainDataOff, 4, 0xfffffffc) })},
		{"value's own compression", inPart(func(e []byte) { e[shm.ChainDataOff] |= 2 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			v.suffers(t, harness.MsgChainExtent, 1, c.lie, rightRows, sql) // at the first row
		})
	}
	w.unharmed(t, v.Session)
}

// chainOf announces and sends an extent of a chain with the given number of bytes.
func chainOf(bytes uint64) lie {
	return func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		put(f.Body(), 16, 4, bytes)
		return inPart(func(e []byte) { put(e, 16, 4, bytes) })(t, f)
	}
}

func inPart(tell func(extent []byte)) lie {
	return func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		mapped(t, f.FDs()[0], tell)
		return []*harness.Frame{f}, true
	}
}
