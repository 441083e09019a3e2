package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"gpujoin/sidecar/config"
)

// hugePages is what the kernel says of its reserved huge pages of the default size.
type hugePages struct {
	total, free, promised int64 // promised: of the free ones, to processes that have not touched them
	size                  int64 // bytes
}

// readHugePages reads the text of /proc/meminfo.
func readHugePages(r io.Reader) (h hugePages, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		to := map[string]*int64{"HugePages_Total": &h.total, "HugePages_Free": &h.free, "HugePages_Rsvd": &h.promised, "Hugepagesize": &h.size}[name]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64); err != nil {
			return h, fmt.Errorf("%s in /proc/meminfo: %w", name, err)
		}
	}
	h.size *= 1024
	return h, lines.Err()
}

// String says whether a PostgreSQL server can have its shared buffers in huge pages, and
// whether some process has any.
func (h hugePages) String() string {
	const gain = `with huge_pages = on in PostgreSQL, tables in shared buffers are read in 0.6 to 0.9 of the time (docs/operating.md)`
	switch used := h.total - h.free + h.promised; {
	case h.total == 0:
		return "none are reserved, so PostgreSQL has none; " + gain
	case used == 0:
		return fmt.Sprintf("%d of %d kB are reserved, and no process uses one; %s", h.total, h.size>>10, gain)
	default:
		return fmt.Sprintf("%d of %d, of %d kB each, are in use; SHOW huge_pages_status (17 and later) says whether PostgreSQL has them", used, h.total, h.size>>10)
	}
}

// checkHugePages never fails: huge pages are of use, but not needed.
func checkHugePages(*config.Config) (string, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	h, err := readHugePages(f)
	return h.String(), err
}
