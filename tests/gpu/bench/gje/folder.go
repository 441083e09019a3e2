package gje

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// memoryFolder is a file system in memory, if it exists; tests replace it.
var memoryFolder = "/dev/shm"

// kept is the size in bytes from which an executable keeps a column of keys.
const kept = 128 << 20

// files returns the files that they keep for a case, with sizes in bytes. Payload and
// match ratio are generated anew in each run.
func (c *Case) files() map[string]int64 {
	files := map[string]int64{}
	add := func(rows int64, name string) {
		if bytes := rows * int64(c.Key); bytes >= kept {
			files[name] = bytes
		}
	}
	add(c.Build, fmt.Sprintf("%d/r_%d", c.Key, c.Build))
	add(c.Probe, fmt.Sprintf("%d/s_%d_%d_%v", c.Key, c.Build, c.Probe, c.Zipf))
	return files
}

// room returns the total bytes of the files for all cases.
func room(cases []Case) (bytes int64) {
	all := map[string]int64{}
	for _, c := range cases {
		for name, size := range c.files() {
			all[name] = size
		}
	}
	for _, size := range all {
		bytes += size
	}
	return bytes
}

// newFolder makes a folder with the given free bytes, in memory if possible, and the
// subfolders that the executables expect.
func newFolder(bytes int64) (string, error) {
	parent := os.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memoryFolder, &fs); err == nil && int64(fs.Bavail)*fs.Bsize > bytes {
		parent = memoryFolder
	}
	folder, err := os.MkdirTemp(parent, "gje-")
	if err != nil {
		return "", err
	}
	return folder, errors.Join(os.Mkdir(filepath.Join(folder, "int"), 0o755), os.Mkdir(filepath.Join(folder, "long"), 0o755))
}
