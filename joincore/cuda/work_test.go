//go:build cuda

package cuda

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// dividedWork runs a join whose sides are divided, and returns what it reports.
func dividedWork(t *testing.T, p *Provider, by outofcore.Dividers) joincore.DeviceWork {
	t.Helper()
	p.outOfCore.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 100, By: by}
	plan, inputs := suite.SegmentedPair(joincore.Inner)
	var stats joincore.Stats
	if err := suite.Run(t.Context(), p, plan, inputs, &suite.Arena{}, suite.NewCollector(plan, 50), exec.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	return stats.Joins[0].Work
}

// TestDivisionIsReported: what the device does to divide counts as the join's,
// and nothing of what cores do.
func TestDivisionIsReported(t *testing.T) {
	p := provider(t, 64<<20)
	device, cores := dividedWork(t, p, outofcore.DeviceAlone), dividedWork(t, p, outofcore.CoresAlone)
	// Each side has 15 segments of 60 rows, of which a window has two or, at the
	// end, one; three kernels divide a window, and one looks for the range of each column.
	const windows = 2 * 8
	if n := device.Launches - cores.Launches; n != 5*windows {
		t.Errorf("%d launches of divisions, want %d", n, 5*windows)
	}
	if n := device.Syncs - cores.Syncs; n < windows {
		t.Errorf("%d waits for %d windows", n, windows)
	}
	// A row's key is read, its partition written and read, and two columns are read twice and
	// stored in 4 bytes.
	const bytes = 2 * 900 * (8 + 2 + 2*(8+8+4))
	if n := device.Bytes - cores.Bytes; n != bytes {
		t.Errorf("%d bytes of divisions, want %d", n, bytes)
	}
	t.Logf("device %+v, cores %+v", device, cores)
}

// TestJobsLeaveWhatTheyHadToOthers: the driver is asked for nothing that jobs
// before have had.
func TestJobsLeaveWhatTheyHadToOthers(t *testing.T) {
	p := provider(t, 64<<20)
	for range 3 { // what crosses the link ahead may want memory, and an event, at another time
		dividedWork(t, p, outofcore.DeviceAlone)
	}
	s := p.idle[0]
	staging, events := s.staging, len(s.idle)
	if staging == nil || events == 0 {
		t.Fatalf("staging buffer %v, %d events", staging, events)
	}
	dividedWork(t, p, outofcore.DeviceAlone)
	if p.idle[0] != s || s.staging != staging || len(s.idle) != events {
		t.Errorf("another staging buffer, or %d events after %d", len(s.idle), events)
	}
}
