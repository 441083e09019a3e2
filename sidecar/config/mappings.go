package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MappingsFile is the setting that FindMappings reads.
const MappingsFile = "/proc/sys/vm/max_map_count"

// FindMappings returns how many areas of memory a process may map.
func FindMappings() (int64, error) {
	text, err := os.ReadFile(MappingsFile)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", MappingsFile, err)
	}
	return n, nil
}
