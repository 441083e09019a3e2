package links

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore/mesh"
)

// curve returns copies over a link of a bandwidth and half size.
func curve(gbps float64, half int64) []Size {
	var list []Size
	for _, bytes := range []int64{64 << 10, 1 << 20, 16 << 20, 64 << 20} {
		list = append(list, Size{bytes, gbps * float64(bytes) / float64(bytes+half)})
	}
	return list
}

// switched is a machine whose devices are connected by NVSwitches that a virtual machine
// does not see; direct one with four NVLinks between each two; staged one without any.
func machineOf(kind string, devices int) *Facts {
	f := &Facts{Driver: "580.1", AllGBps: 700}
	for i := range devices {
		d := Device{UUID: "GPU-" + string(rune('a'+i)), Name: "NVIDIA H200", PCI: "0000:0" + string(rune('1'+i)) + ":00.0", NUMA: i / 2, ToDevice: 55, ToHost: 54, BothWays: 100}
		switch kind {
		case "switched":
			d.NVLinks = 18
		case "direct":
			d.NVLinks = 4 * (devices - 1)
		}
		f.Devices = append(f.Devices, d)
	}
	for from := range devices {
		for to := range devices {
			if from == to {
				continue
			}
			p := Pair{From: from, To: to, Peer: kind != "staged", Path: "NUMA node", Latency: 12 * time.Microsecond, Sizes: curve(390, 1<<20), BothWays: 385}
			switch kind {
			case "direct":
				p.NVLinks, p.Sizes = 4, curve(92, 40<<10)
			case "staged":
				p.Path, p.Sizes, p.BothWays = "sockets", curve(17, 64<<10), 0
			}
			f.Pairs = append(f.Pairs, p)
		}
	}
	return f
}

// The bandwidth and the half size of a link follow from copies of several sizes.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		gbps float64
		half int64
	}{{390, 1 << 20}, {23, 38 << 10}, {55, 0}} {
		gbps, half := fitLine(curve(c.gbps, c.half))
		if math.Abs(gbps-c.gbps) > 0.01*c.gbps || math.Abs(float64(half-c.half)) > 0.02*float64(c.half)+8 {
			t.Errorf("%v GB/s, half at %d: %v GB/s, %d", c.gbps, c.half, gbps, half)
		}
	}
	if gbps, half := fitLine(nil); gbps != 0 || half != 0 {
		t.Errorf("nothing: %v GB/s, %d", gbps, half)
	}
	if gbps, half := fitLine([]Size{{1 << 20, 7}}); gbps != 7 || half != 0 {
		t.Errorf("one size: %v GB/s, %d", gbps, half)
	}
	if gbps, half := fitLine([]Size{{1 << 20, 7}, {2 << 20, 20}, {4 << 20, 50}}); !(gbps > 0) || half < 0 {
		t.Errorf("faster than time allows: %v GB/s, %d", gbps, half)
	}
}

// Machines of each kind become meshes whose hops are as fast as the copies that were
// measured.
func TestMesh(t *testing.T) {
	for _, c := range []struct {
		kind   string
		hop    mesh.Kind
		gbps   float64
		staged bool
	}{{"switched", mesh.NVSwitch, 390, false}, {"direct", mesh.NVLink, 92, false}, {"staged", mesh.PCIe, 54, true}} {
		m, err := machineOf(c.kind, 4).Mesh()
		if err != nil {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		for from := range 4 {
			for to := range 4 {
				if from == to {
					continue
				}
				hops := m.Direct(from, to)
				want := c.gbps
				if c.staged && from/2 != to/2 {
					want = 17 // between the sockets
				}
				if len(hops) == 0 || hops[0].Kind != c.hop || hops[0].Staged != c.staged || math.Abs(hops[0].GBps-want) > 0.02*want {
					t.Errorf("%s, %d to %d: %+v", c.kind, from, to, hops)
				}
			}
		}
		if direct := c.kind == "direct"; m.Multihop() != direct {
			t.Errorf("%s: detours %v", c.kind, m.Multihop())
		}
	}
	if m, err := machineOf("switched", 1).Mesh(); err != nil || m.GPUs() != 1 {
		t.Errorf("one device: %v", err)
	}
	unknown := machineOf("staged", 2)
	unknown.Devices[0].ToHost, unknown.Devices[1].NUMA = 0, -1
	if m, err := unknown.Mesh(); err != nil || len(m.Direct(0, 1)) != 1 {
		t.Errorf("unknown rates: %v", err)
	}
}

// Devices that are apart have their links to the host, and no copies between them were measured. Facts
// about devices that were apart are none about others.
func TestDevicesApart(t *testing.T) {
	path, uuids := filepath.Join(t.TempDir(), "gpus.mesh"), []string{"GPU-a", "GPU-b", "GPU-c", "GPU-d"}
	for _, kind := range []string{"switched", "direct", "staged"} {
		f := machineOf(kind, 4)
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		apart, err := LoadFacts(path, uuids, f.Driver, true)
		if err != nil || apart == nil || !apart.Apart || apart.AllGBps != 0 || !reflect.DeepEqual(apart.Devices, f.Devices) || f.Apart {
			t.Fatalf("%s: %+v, %v", kind, apart, err)
		}
		for _, c := range apart.Connections() {
			if between := c.From != Host && c.To != Host; between != (c.Kind == "staged") || between && (c.Direct || c.GBps != 0 || !strings.Contains(c.Note, "cuda_peer_access")) || !between && c.GBps == 0 {
				t.Errorf("%s: %+v", kind, c)
			}
		}
		m, err := apart.Mesh()
		if err != nil || len(m.Direct(0, 1)) != 1 || !m.Direct(0, 1)[0].Staged || m.Multihop() {
			t.Errorf("%s: %v, %+v", kind, err, m.Direct(0, 1))
		}
		if err := apart.Save(path); err != nil {
			t.Fatal(err)
		}
		if got, err := LoadFacts(path, uuids, f.Driver, true); err != nil || !reflect.DeepEqual(got, apart) {
			t.Errorf("%s: %v, %+v", kind, err, got)
		}
		if got, err := LoadFacts(path, uuids, f.Driver, false); err != nil || got != nil {
			t.Errorf("%s: copies that were not measured: %v, %+v", kind, err, got)
		}
	}
}

// A file has all facts, and counts only for the same devices and driver.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.mesh")
	f := machineOf("switched", 2)
	f.Notes = []string{"NVML is not available"}
	uuids := []string{"GPU-a", "GPU-b"}
	if got, err := LoadFacts(path, uuids, f.Driver, false); got != nil || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadFacts(path, uuids, f.Driver, false); err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%v: %+v", err, got)
	}
	for name, got := range map[string]func() (*Facts, error){
		"another driver": func() (*Facts, error) { return LoadFacts(path, uuids, "581.0", false) },
		"another order":  func() (*Facts, error) { return LoadFacts(path, []string{"GPU-b", "GPU-a"}, f.Driver, false) },
		"fewer devices":  func() (*Facts, error) { return LoadFacts(path, uuids[:1], f.Driver, false) },
	} {
		if x, err := got(); x != nil || err != nil {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFacts(path, uuids, f.Driver, false); !errors.Is(err, ErrFacts) {
		t.Errorf("half a file: %v", err)
	}
	if _, err := LoadFacts(filepath.Dir(path), uuids, f.Driver, false); !errors.Is(err, ErrFacts) {
		t.Errorf("a directory: %v", err)
	}
}

// Whatever contradicts itself is refused.
func TestFilesAreDistrusted(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"no device":        func(f *Facts) { f.Devices = nil },
		"17 devices":       func(f *Facts) { f.Devices = make([]Device, 17) },
		"a device twice":   func(f *Facts) { f.Devices[1].UUID = f.Devices[0].UUID },
		"no UUID":          func(f *Facts) { f.Devices[1].UUID = "" },
		"a long name":      func(f *Facts) { f.Devices[1].Name = strings.Repeat("x", 300) },
		"a negative rate":  func(f *Facts) { f.Devices[1].ToHost = -1 },
		"an endless rate":  func(f *Facts) { f.Pairs[0].BothWays = 1e9 },
		"a pair of one":    func(f *Facts) { f.Pairs[0].To = f.Pairs[0].From },
		"a pair of others": func(f *Facts) { f.Pairs[0].To = 2 },
		"a pair twice":     func(f *Facts) { f.Pairs[1] = f.Pairs[0] },
		"no bytes":         func(f *Facts) { f.Pairs[0].Sizes[0].Bytes = 0 },
		"no rate":          func(f *Facts) { f.Pairs[0].Sizes[0].GBps = 0 },
		"late":             func(f *Facts) { f.Pairs[0].Latency = time.Hour },
		"all at once":      func(f *Facts) { f.AllGBps = -1 },
	} {
		f := machineOf("switched", 2)
		change(f)
		text, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeFacts(text); !errors.Is(err, ErrFacts) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.Mesh(); !errors.Is(err, ErrFacts) {
			t.Errorf("%s: mesh: %v", name, err)
		}
	}
	good, err := machineOf("switched", 2).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeFacts(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "no version": "{}", "version 1": strings.Replace(string(good), `"version": 2`, `"version": 1`, 1),
		"unknown field": strings.Replace(string(good), `"driver"`, `"future": 1, "driver"`, 1), "two values": string(good) + "{}", "long": strings.Repeat(" ", mostFactsBytes+1),
	} {
		if _, err := DecodeFacts([]byte(text)); !errors.Is(err, ErrFacts) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What Decode accepts makes a mesh, or says why not, and is kept as it is.
func FuzzDecode(f *testing.F) {
	for _, kind := range []string{"switched", "direct", "staged"} {
		text, err := machineOf(kind, 3).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := DecodeFacts(text)
		if err != nil {
			return
		}
		if _, err := facts.Mesh(); err != nil && !errors.Is(err, mesh.ErrInvalid) {
			t.Error(err)
		}
		again, err := facts.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeFacts(again); err != nil || !reflect.DeepEqual(got, facts) {
			t.Errorf("%v: %+v", err, got)
		}
	})
}

// The way between two devices follows from their paths through bridges.
func TestPaths(t *testing.T) {
	const a, b, c, d = "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0", "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/0000:1a:00.0",
		"/sys/devices/pci0000:17/0000:17:05.0/0000:1b:00.0", "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0"
	for _, x := range []struct {
		from, to string
		numa     [2]int
		want     string
	}{
		{a, b, [2]int{0, 0}, "PCIe switch"}, {a, c, [2]int{0, 0}, "host bridge"}, {a, d, [2]int{0, 0}, "NUMA node"},
		{a, d, [2]int{0, 1}, "sockets"}, {a, d, [2]int{-1, -1}, "host"}, {a, "", [2]int{0, 0}, ""},
	} {
		if got := pathBetween(x.from, x.to, x.numa[0], x.numa[1]); got != x.want {
			t.Errorf("%s to %s: %q, want %q", x.from, x.to, got, x.want)
		}
	}
	root := t.TempDir()
	device := filepath.Join(root, "devices", "pci0000:17", "0000:18:00.0")
	if err := os.MkdirAll(device, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(device, "numa_node"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed := filepath.Join(root, "bus", "pci", "devices")
	if err := os.MkdirAll(listed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(device, filepath.Join(listed, "0000:18:00.0")); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(device)
	if err != nil {
		t.Fatal(err)
	}
	if path, numa := pciPath(root, "00000000:18:00.0"); path != resolved || numa != 1 {
		t.Errorf("%s on node %d", path, numa)
	}
	if path, numa := pciPath(root, "0000:19:00.0"); path != "" || numa != -1 {
		t.Errorf("a missing device: %q, %d", path, numa)
	}
}

// The tables have a line for each device and pair, and what is not known.
func TestPrint(t *testing.T) {
	f := machineOf("switched", 2)
	f.Notes = []string{"device 1 was busy"}
	f.Devices[1].NUMA = -1
	var b strings.Builder
	if err := f.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `driver 580.1

  device           PCI  NUMA  NVLinks  host to device  device to host  both at once, GB/s
       0  0000:01:00.0     0       18              55              54                 100
       1  0000:02:00.0     -       18              55              54                 100

  from  to  peer  NVLinks  PCIe path  latency  64 KB  1 MB  16 MB  64 MB  both ways, GB/s
     0   1   yes        0  NUMA node     12µs     23   195    367    384              385
     1   0   yes        0  NUMA node     12µs     23   195    367    384              385

all pairs at once: 700 GB/s

device 1 was busy
`
	if got := b.String(); got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
}
