package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/metrics"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *command) status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show settings, memory, jobs, kept columns and devices of the daemon",
		Long: `Show settings, memory, jobs, kept columns and devices of the daemon that serves the socket.

The exit code is 3 if no daemon serves it. Root asks as the user who owns the socket.`,
		Args: noArgs,
	}
	settings := settingsOf(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		text, status, err := c.askStatus(settings)
		if err != nil {
			return err
		}
		if *asJSON {
			var out bytes.Buffer
			if err := json.Indent(&out, text, "", "  "); err != nil {
				return err
			}
			out.WriteByte('\n')
			_, err = out.WriteTo(c.out)
			return err
		}
		return printStatus(c.out, status)
	}
	return cmd
}

func (c *command) metrics() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print the daemon's metrics in the text format of Prometheus",
		Long: `Print the metrics of the daemon that serves the socket, in the text format of Prometheus.

They are those that the daemon serves with --metrics-listen. The exit code is 3 if no
daemon serves the socket. Root asks as the user who owns the socket.`,
		Example: "  gpujoind metrics > /var/lib/prometheus/node-exporter/gpujoin.prom",
		Args:    noArgs,
	}
	settings := settingsOf(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		_, status, err := c.askStatus(settings)
		if err != nil {
			return err
		}
		return metrics.Write(c.out, status)
	}
	return cmd
}

// askStatus asks the daemon for its status.
func (c *command) askStatus(settings *pflag.FlagSet) ([]byte, *sidecar.Status, error) {
	cfg, err := c.loadAsOwner(settings)
	if err != nil {
		return nil, nil, err
	}
	text, err := statusText(cfg)
	if err != nil {
		fmt.Fprintf(c.err, "gpujoind: %v\n", err)
		return nil, nil, exitError(ExitNoDaemon)
	}
	status := &sidecar.Status{}
	return text, status, json.Unmarshal(text, status)
}

// section is a table with a title and the names of its columns.
type section struct {
	title   string
	columns []string
	rows    [][]string
}

func (s *section) add(cells ...string) { s.rows = append(s.rows, cells) }

// printStatus prints a status as tables.
func printStatus(w io.Writer, d *sidecar.Status) error {
	tables := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, s := range []*section{
		daemonSection(d), jobSection(d), phaseSection(d), memorySection(d), keptSection(d), deviceSection(d), settingSection(d),
	} {
		if i > 0 {
			fmt.Fprintln(tables)
		}
		fmt.Fprintln(tables, s.title)
		if len(s.rows) == 0 {
			fmt.Fprintln(tables, "  none")
			continue
		}
		if s.columns != nil {
			s.rows = append([][]string{s.columns}, s.rows...)
		}
		for _, row := range s.rows {
			fmt.Fprintln(tables, "  "+strings.Join(row, "\t"))
		}
		tables.Flush() // columns of one table say nothing about the next
	}
	return tables.Flush()
}

func daemonSection(d *sidecar.Status) *section {
	state := "running"
	if d.Stopping {
		state = "stopping"
	}
	t, s := d.Totals, &section{title: "DAEMON"}
	s.add("state", fmt.Sprintf("%s, process %d, for %s", state, d.PID, seconds(d.UptimeS)))
	s.add("version", d.Version)
	s.add("providers", strings.Join(d.Providers, ", ")+"; rates: "+string(d.Rates))
	s.add("process", fmt.Sprintf("%s resident, %d goroutines, %d threads, %d of %d files", bytesText(int64(d.Process.Resident)),
		d.Process.Goroutines, d.Process.Threads, d.Process.Files, d.Process.MaxFiles))
	s.add("jobs", fmt.Sprintf("%d admitted: %d finished, %d cancelled, %d failed; %d refused", t.Admitted, t.Finished, t.Cancelled, t.Failed, t.Refused))
	s.add("fallbacks", fmt.Sprintf("%d%s", t.Fallbacks, reasons(t.Reasons)))
	return s
}

func jobSection(d *sidecar.Status) *section {
	s := &section{title: "JOBS", columns: []string{"job", "pid", "state", "waits for", "rows", "bytes", "result rows", "reserved", "used", "age"}}
	all := append(append([]sidecar.JobStatus{}, d.Jobs...), d.Waiting...)
	for i := range all {
		j := &all[i]
		number := "-"
		if j.ID != 0 {
			number = fmt.Sprint(j.ID)
		}
		s.add(number, fmt.Sprint(j.PID), j.State, orDash(j.WaitsFor), fmt.Sprintf("%d of %.0f", j.Rows, j.Expected), bytesText(j.Bytes),
			fmt.Sprint(j.RowsOut), bytesText(j.Reserved), bytesText(j.Used), seconds(j.AgeS))
	}
	return s
}

func phaseSection(d *sidecar.Status) *section {
	s := &section{title: "PHASES OF JOBS, since the start", columns: []string{"phase", "times", "mean", "90 % within"}}
	for i := range d.Phases {
		p := &d.Phases[i]
		if p.Count == 0 {
			continue
		}
		within := "more than " + seconds(p.Bounds[len(p.Bounds)-1])
		for i, n := range p.Counts {
			if 10*n >= 9*p.Count {
				within = seconds(p.Bounds[i])
				break
			}
		}
		s.add(p.Phase, fmt.Sprint(p.Count), seconds(p.SumS/float64(p.Count)), within)
	}
	return s
}

func memorySection(d *sidecar.Status) *section {
	s := &section{title: fmt.Sprintf("MEMORY, %s of %s reserved", bytesText(d.Reserved), bytesText(d.Budget)),
		columns: []string{"account", "used", "peak", "limit"}}
	for _, a := range d.Memory {
		limit := "-"
		if a.Limit != 0 {
			limit = bytesText(a.Limit)
		}
		s.add(strings.Repeat("  ", strings.Count(a.Path, "/"))+a.Path[strings.LastIndex(a.Path, "/")+1:], bytesText(a.Used), bytesText(a.Peak), limit)
	}
	if d.Spool.Limit > 0 {
		s.add("unread results on disk", bytesText(d.Spooled), "-", bytesText(d.Spool.Limit))
	}
	return s
}

func keptSection(d *sidecar.Status) *section {
	s := &section{title: fmt.Sprintf("KEPT COLUMNS, %s of %s", bytesText(d.Kept.Bytes), bytesText(d.Kept.Limit)),
		columns: []string{"table", "database", "columns", "bytes", "uses", "idle"}}
	for i := range d.Kept.Tables {
		t := &d.Kept.Tables[i]
		s.add(t.Name, fmt.Sprint(t.Database), fmt.Sprint(len(t.Columns)), bytesText(t.Bytes), fmt.Sprintf("%.1f", t.Uses), seconds(t.IdleS))
	}
	return s
}

func deviceSection(d *sidecar.Status) *section {
	s := &section{title: "DEVICES", columns: []string{"device", "model", "state", "memory", "used", "kept", "jobs", "queued", "reason"}}
	for i := range d.Devices {
		v := &d.Devices[i]
		s.add(fmt.Sprintf("%s %d", v.Provider, v.Number), orDash(v.Name), v.State, bytesText(v.Budget), bytesText(v.Used), bytesText(v.Resident),
			fmt.Sprint(v.Jobs), fmt.Sprint(v.Queued), orDash(v.Reason))
	}
	return s
}

func settingSection(d *sidecar.Status) *section {
	s := &section{title: "SETTINGS", columns: []string{"setting", "value", "from"}}
	for _, v := range d.Settings {
		s.add(v.Name, orDash(v.Value), v.Source)
	}
	return s
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func bytesText(n int64) string {
	if n == 0 {
		return "0"
	}
	return config.FormatSize(n)
}

// seconds returns a time with three digits or so.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// reasons lists the reasons that occurred, as " (budget 1, busy 3)".
func reasons(counts map[string]int64) string {
	var out []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", reason, counts[reason]))
	}
	if out == nil {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}
