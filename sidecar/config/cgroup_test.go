package config

import (
	"testing"
	"testing/fstest"
)

// Mounts as /proc/self/mountinfo shows them.
const (
	unified     = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	hybrid      = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	memory1     = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	cpu1        = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	container1  = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	containerV2 = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
)

// TestCgroupLimit finds limits in trees of control groups.
func TestCgroupLimit(t *testing.T) {
	const none = "9223372036854771712\n" // version 1, where nothing is limited
	for _, c := range []struct {
		name, cgroup, mounts string
		files                map[string]string
		want                 int64
		source               string
	}{
		{"none", "", "", nil, 0, ""},
		{"version 2, unlimited", "0::/a\n", unified, map[string]string{"a/memory.max": "max\n", "a/memory.high": "max\n"}, 0, ""},
		{"version 2, its own", "0::/a\n", unified, map[string]string{"a/memory.max": "500\n"}, 500, "sys/fs/cgroup/a/memory.max"},
		{"version 2, one above", "0::/a/b/c\n", unified,
			map[string]string{"a/memory.max": "500\n", "a/b/memory.max": "max\n", "a/b/c/memory.max": "900\n"},
			500, "sys/fs/cgroup/a/memory.max"},
		{"version 2, high", "0::/a/b\n", unified,
			map[string]string{"a/memory.high": "400\n", "a/b/memory.max": "500\n"}, 400, "sys/fs/cgroup/a/memory.high"},
		{"version 2, of a sibling", "0::/a/b\n", unified, map[string]string{"a/c/memory.max": "500\n"}, 0, ""},
		{"version 2, a name that begins alike", "0::/docker/abcd\n", containerV2, map[string]string{"d/memory.max": "1\n", "memory.max": "2\n"}, 2, "sys/fs/cgroup/memory.max"},
		{"version 2, a namespace", "0::/\n", unified, map[string]string{"memory.max": "500\n"}, 500, "sys/fs/cgroup/memory.max"},
		{"version 2, out of its namespace", "0::/../x\n", unified, map[string]string{"memory.max": "500\n", "x/memory.max": "1"}, 500, "sys/fs/cgroup/memory.max"},
		{"version 2, a container", "0::/docker/abc/x\n", containerV2, map[string]string{"x/memory.max": "500\n"}, 500, "sys/fs/cgroup/x/memory.max"},
		{"version 1, unlimited", "4:memory:/a\n", memory1, map[string]string{"memory/a/memory.limit_in_bytes": none}, 9223372036854771712, "sys/fs/cgroup/memory/a/memory.limit_in_bytes"},
		{"version 1, one above", "5:cpu,cpuacct:/z\n4:memory:/a/b\n0::/\n", cpu1 + memory1 + hybrid,
			map[string]string{"memory/a/memory.limit_in_bytes": "500\n", "memory/a/b/memory.limit_in_bytes": none, "unified/memory.max": "max"},
			500, "sys/fs/cgroup/memory/a/memory.limit_in_bytes"},
		{"version 1, above the mount", "4:memory:/docker/abc\n", container1,
			map[string]string{"memory/memory.limit_in_bytes": none, "memory/memory.stat": "cache 7\nhierarchical_memory_limit 600\nrss 1\n"},
			600, "sys/fs/cgroup/memory/memory.stat"},
		{"both", "4:memory:/a\n0::/b\n", memory1 + hybrid,
			map[string]string{"memory/a/memory.limit_in_bytes": "500\n", "unified/b/memory.max": "450\n"}, 450, "sys/fs/cgroup/unified/b/memory.max"},
		{"nonsense", "4:memory\n\n0:x\n0::/a\n", unified, map[string]string{"a/memory.max": "lots\n", "a/memory.high": "-5\n"}, 0, ""},
	} {
		root := fstest.MapFS{
			"proc/self/cgroup":    {Data: []byte(c.cgroup)},
			"proc/self/mountinfo": {Data: []byte("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" + c.mounts)},
		}
		for name, text := range c.files {
			root["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		limit, source := cgroupLimit(root)
		if limit != c.want || source != c.source {
			t.Errorf("%s: %d by %q, not %d by %q", c.name, limit, source, c.want, c.source)
		}
	}
}

// TestFindMemory asks this machine.
func TestFindMemory(t *testing.T) {
	m, err := FindMemory()
	if err != nil || m.Total <= 0 || m.Total > m.Machine || (m.Total < m.Machine) != (m.Source != "") {
		t.Errorf("%+v, %v", m, err)
	}
}
