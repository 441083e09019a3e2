package worker

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/worker/child"
	"gpujoin/testsupport/suite"

	"gpujoin/joincore/cpu"
)

// several returns the devices of a worker: text is their number. fault, if there is one, is
// what the last one does: "left out", or a fault of faulty.
func several(text, fault string, m *child.Machine) (list []device.Provider) {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	for i := range n {
		switch {
		case i < n-1 || fault == "":
			list = append(list, cpu.New())
		case fault == "left out":
			m.Unused = append(m.Unused, child.Unused{Name: "pid " + strconv.Itoa(os.Getpid()), Reason: "it does not open"})
		default:
			list = append(list, &faulty{cpu.New(), fault})
		}
	}
	for i := range list {
		m.Links = append(m.Links, child.Link{From: child.Host, To: i, Kind: "simulated", GBps: 10, Latency: time.Microsecond})
	}
	return list
}

// large is a join of which the larger input has enough rows for all devices.
func large() (*joincore.Plan, []*joincore.Relation) {
	small := suite.Keyed(500, func(row int) uint64 { return uint64(row) })
	more := suite.Keyed(3000, func(row int) uint64 { return uint64(row % 500) })
	return suite.PairPlan(small, more), []*joincore.Relation{small, more}
}

// TestSeveralDevices: a job runs on all idle devices, and says so.
func TestSeveralDevices(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			r := start(t, strconv.Itoa(n)+" devices", nil).ready()
			plan, inputs := large()
			stats := r.compare("large", plan, inputs, 100)
			want := n
			if n == 1 {
				want = 0
			}
			if stats.Devices != want || stats.Joins[0].Devices != want || stats.Alone != "" || stats.Joins[0].ProbeRows != 3000 {
				t.Errorf("%+v", stats)
			}
			if d, l := r.remote.Devices(), r.remote.Links(); len(d) != n || len(l) != n || l[0].From != nil || *l[n-1].To != n-1 || l[0].Provider != "test" {
				t.Errorf("%+v, %+v", d, l)
			}
			r.eventually("all devices are idle", func() bool {
				for _, d := range r.remote.Devices() {
					if d.Jobs+d.Queued > 0 {
						return false
					}
				}
				return true
			})
		})
	}
}

// TestADeviceOfSeveralFails: right rows from the first device where that is possible, an
// error that another executor answers where the process is lost, and one reason.
func TestADeviceOfSeveralFails(t *testing.T) {
	for fault, c := range map[string]struct {
		alone string
		text  string
	}{
		"memory":   {alone: "device memory"},
		"error":    {alone: "an illegal address was touched"},
		"panic":    {alone: "a provider's mistake"},
		"left out": {},
		"kill":     {text: "signal: killed"},
		"sticky":   {text: "an illegal address was touched"},
	} {
		t.Run(fault, func(t *testing.T) {
			r := start(t, "3 devices "+fault, func(config *Config) {
				config.Timing.RestartFirst = time.Hour
				config.Timing.RestartMost = time.Hour
			}).ready()
			plan, inputs := large()
			if c.text == "" {
				stats := r.compare(fault, plan, inputs, 100)
				if c.alone != "" && (!strings.Contains(stats.Alone, c.alone) || stats.Devices != 0) || c.alone == "" && stats.Devices != 2 {
					t.Errorf("%+v", stats)
				}
				d := r.remote.Devices()[2]
				if left := fault == "left out"; left != (d.State == executor.StateBroken) || left != (d.Reason == "it does not open") {
					t.Errorf("%+v", d)
				}
				return
			}
			sink := newSink(r.account, plan, 100)
			job, free := r.job(plan, inputs, sink)
			err := r.remote.Run(t.Context(), job, &joincore.Stats{})
			if err == nil || !strings.Contains(err.Error(), c.text) || sink.open != 0 {
				t.Errorf("%v, %d batches open", err, sink.open)
			}
			free()
			r.eventually("it waits to be started again", func() bool { return r.remote.Devices()[0].State == executor.StateWaiting })
			if err := r.remote.Ready(); !errors.Is(err, executor.ErrUnavailable) || len(r.remote.Links()) != 0 {
				t.Error(err)
			}
		})
	}
}

// TestNoDeviceIsLeft: a worker none of whose devices open runs no jobs, and says why.
func TestNoDeviceIsLeft(t *testing.T) {
	r := start(t, "1 devices left out", nil)
	r.eventually("it reports the device", func() bool { return r.remote.Devices()[0].Reason == "it does not open" })
	if err := r.remote.Ready(); !errors.Is(err, executor.ErrAbsent) {
		t.Error(err)
	}
}

// TestSeveralCancelledAndKilled: a join on several devices ends when it is cancelled in the
// midst of its rows, and all of them serve the next one; the job fails when the worker dies.
func TestSeveralCancelledAndKilled(t *testing.T) {
	r := start(t, "3 devices", nil).ready()
	r.cancelled()
	r.eventually("all devices are idle", func() bool {
		for _, d := range r.remote.Devices() {
			if d.Jobs+d.Queued > 0 {
				return false
			}
		}
		return true
	})
	r.killed()
}
