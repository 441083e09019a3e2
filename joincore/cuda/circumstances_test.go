//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"regexp"
	"time"

	"gpujoin/joincore/cuda/driver"
)

// commit is what this program was built from; the build sets it.
var commit = "unknown"

// release is the driver's in what it says of itself: "... Kernel Module  580.159.04  ...".
var release = regexp.MustCompile(`\b[0-9]+\.[0-9]+(\.[0-9]+)?\b`)

// circumstances says on what, when and of what a bench's times are.
func circumstances(d *driver.Context) string {
	version := "unknown"
	if text, err := os.ReadFile("/proc/driver/nvidia/version"); err == nil {
		if found := release.Find(text); found != nil {
			version = string(found)
		}
	}
	return fmt.Sprintf("%s, driver %s; %s; commit %s", d.Info().Name, version, time.Now().UTC().Format("2006-01-02 15:04 UTC"), commit)
}
