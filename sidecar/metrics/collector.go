// Package metrics translates the daemon's status to the metrics of Prometheus. The daemon serves
// them by HTTP, and `gpujoind metrics` prints the same ones of a daemon that runs. Each scrape
// is one look at the status: there are no counters of its own.
package metrics

import (
	"fmt"
	"io"
	"strings"

	"gpujoin/shm"
	"gpujoin/sidecar"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// states are those of jobs and devices: each has a series even while nothing is in it.
var (
	jobStates    = []string{"queued", "feeding", "running", "streaming", "done", "failed"}
	deviceStates = []string{"ready", "absent", "starting", "waiting", "broken"}
)

// collector is a prometheus.Collector of a daemon's status.
type collector struct {
	status func() *sidecar.Status
}

// New returns a registry with the metrics of the status that the function returns.
func New(status func() *sidecar.Status) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{status})
	return registry
}

// Write writes the metrics of a status as text.
func Write(w io.Writer, status *sidecar.Status) error {
	families, err := New(func() *sidecar.Status { return status }).Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// Describe describes nothing: which series there are depends on the devices.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends all metrics.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	status := c.status()
	for _, add := range []func(*sink, *sidecar.Status){daemon, jobs, memory, kept, devices, process} {
		add(&sink{out}, status)
	}
}

// sink sends metrics.
type sink struct{ out chan<- prometheus.Metric }

// labels are pairs of names and values.
func (s *sink) send(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "?"))
	}
	s.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

func (s *sink) gauge(name, help string, value float64, labels ...string) {
	s.send(prometheus.GaugeValue, name, help, value, labels...)
}

func (s *sink) seconds(name, help string, total float64) {
	s.send(prometheus.CounterValue, name, help, total)
}

func (s *sink) counter(name, help string, value int64, labels ...string) {
	s.send(prometheus.CounterValue, name, help, float64(value), labels...)
}

func daemon(s *sink, d *sidecar.Status) {
	s.gauge("gpujoin_build_info", "The daemon's versions; the value is 1.", 1,
		"version", d.Version, "protocol", fmt.Sprint(shm.ProtocolVersion), "layout", fmt.Sprint(shm.LayoutVersion))
	s.gauge("gpujoin_stopping", "Whether the daemon is stopping.", truth(d.Stopping))
	s.gauge("gpujoin_rates_default", "Whether joins are estimated by default rates, because the machine was not measured.",
		truth(d.Rates == sidecar.RatesDefault))
	s.gauge("gpujoin_sessions", "Connections of backends.", float64(d.Sessions))
	s.counter("gpujoin_protocol_errors_total", "Violations of the protocol by peers.", d.Totals.Violations)
	s.counter("gpujoin_rejected_peers_total", "Connections refused because of the peer's user.", d.Totals.RejectedPeers)
}

func jobs(s *sink, d *sidecar.Status) {
	states := map[string]int{"queued": d.Queued}
	for i := range d.Jobs {
		states[d.Jobs[i].State]++
	}
	for _, state := range jobStates {
		s.gauge("gpujoin_jobs", "Jobs by state; queued ones wait for memory.", float64(states[state]), "state", state)
	}
	oldest := 0.0
	for i := range d.Jobs {
		oldest = max(oldest, d.Jobs[i].UnreadS)
	}
	s.gauge("gpujoin_oldest_unread_result_seconds", "Longest time for which a client has left a result unread.", oldest)
	t := d.Totals
	s.counter("gpujoin_jobs_admitted_total", "Jobs that were admitted.", t.Admitted)
	s.counter("gpujoin_jobs_refused_total", "Jobs that were not admitted.", t.Refused)
	for _, ended := range []struct {
		how string
		n   int64
	}{{"finished", t.Finished}, {"cancelled", t.Cancelled}, {"failed", t.Failed}} {
		s.counter("gpujoin_jobs_ended_total", "Admitted jobs that have ended: all rows were delivered, a backend left before, or the daemon failed.", ended.n, "outcome", ended.how)
	}
	s.counter("gpujoin_fallbacks_total", "Jobs that were refused or failed before their first row, so that the native plan ran.", t.Fallbacks)
	for _, reason := range shm.FailureNames() {
		s.counter("gpujoin_job_failures_total", "Refused and failed jobs by reason.", t.Reasons[reason], "reason", reason)
	}
	s.counter("gpujoin_joins_total", "Joins that were executed.", t.Joins)
	s.counter("gpujoin_aggregations_total", "Aggregations that were executed with their joins.", t.Blocks)
	for i := range d.Phases {
		p := &d.Phases[i]
		buckets := map[float64]uint64{}
		for i, bound := range p.Bounds {
			buckets[bound] = uint64(p.Counts[i])
		}
		s.out <- prometheus.MustNewConstHistogram(prometheus.NewDesc("gpujoin_job_phase_seconds",
			"Time of each phase of jobs: waiting for memory, feeding rows, joining, and returning rows to the client.",
			[]string{"phase"}, nil), uint64(p.Count), p.SumS, buckets, p.Phase)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
