package docs

import (
	_ "embed"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
)

var update = flag.Bool("update", false, "write docs/settings.md")

//go:embed settings.md.tmpl
var settingsTemplate string

// What the page adds to descriptions in the code: most of all, which page says more.
var additions = map[string]string{
	"gpujoin.algorithm":           "[Algorithms](explain.md#algorithms)",
	"gpujoin.enable_key_filters":  "[Key filters](sql.md#key-filters)",
	"gpujoin.explain_rejected":    "[Reasons](troubleshooting.md#why-a-join-stays-native)",
	"gpujoin.float_aggregates":    "[Floats](sql.md#floats)",
	"gpujoin.freshness":           "[Foreign sources](foreign-sources.md#options)",
	"gpujoin.keep":                "[Kept columns](kept-columns.md)",
	"gpujoin.log_fallbacks":       "[Fallbacks in the log](monitoring.md#fallbacks-in-the-servers-log)",
	"gpujoin.max_job_memory":      "[Limit roles](operating.md#limit-roles)",
	"gpujoin.role_share":          "[Limit roles](operating.md#limit-roles)",
	"gpujoin.stat_statements_max": "[Statistics of queries](views.md#gpujoinstat_statements)",

	"cuda_devices":         "[GPUs](gpu.md)",
	"cuda_peer_access":     "[GPUs](gpu.md#use-several-gpus)",
	"cuda_strategy":        "[GPUs](gpu.md)",
	"cuda_transfer_method": "[Methods](internals/gpu-kernels.md#transfers)",
	"keep_interest":        "[Kept columns](kept-columns.md)",
	"keep_memory":          "[Kept columns](kept-columns.md)",
	"log_format":           "the log never contains values of columns",
	"memory_budget":        "[Memory](operating.md#memory)",
	"metrics_listen":       "[Metrics](monitoring.md#metrics)",
	"mirror_memory":        "[Foreign sources](foreign-sources.md)",
	"provider":             "`auto` runs a large join on a GPU if it is predicted to be faster there: [GPUs](gpu.md)",
	"spool_dir":            "[Unread results](operating.md#unread-results)",
	"state_dir":            "packages set `/var/lib/gpujoin`",
	"stop_timeout":         "then the daemon ends them",
	"trace":                "only its owner can read it; it contains jobs with their constants",
	"window":               "a query gets two for each process and one more, even if that is more",
}

// settings.md is what the code defines.
func TestSettingsPage(t *testing.T) {
	defined := append(gucs(t, read(t, "fdw", "options.c")), gucs(t, read(t, "fdw", "stats", "statements.c"))...)
	daemon := daemonSettings(t)
	if len(defined) < 30 || len(daemon) < 30 {
		t.Fatalf("found only %d settings of the extension and %d of the daemon", len(defined), len(daemon))
	}
	var general, model, hidden []guc
	for _, g := range defined {
		switch {
		case g.hidden:
			hidden = append(hidden, g)
		case strings.HasSuffix(g.name, "_cost") || slices.Contains([]string{"gpujoin.cost_margin", "gpujoin.estimate_native"}, g.name):
			model = append(model, g)
		default:
			general = append(general, g)
		}
	}
	libpq, own := options(t)
	functions := template.FuncMap{"row": gucRow, "daemonRow": daemonRow, "optionRow": optionRow, "names": optionNames}
	parsed := template.Must(template.New("").Funcs(functions).Parse(settingsTemplate))
	var page strings.Builder
	if err := parsed.Execute(&page, map[string]any{
		"General": general, "Model": model, "Hidden": hidden, "Daemon": daemon, "Own": own, "Libpq": libpq,
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "settings.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != page.String() {
		t.Errorf("docs/settings.md is not what the code defines (%v); run make settings", err)
	}
}

// row is one of a table.
func row(cells ...string) string {
	return "| " + strings.ReplaceAll(strings.Join(cells, " | "), " |  |", " | |") + " |"
}

// code quotes a value; "": there is none.
func code(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}

// explained is a description with what the page adds to it, and without its first words if
// those are the same for many settings.
func explained(name, text string) string {
	if more := additions[name]; more != "" {
		text = strings.TrimSuffix(text, ".") + ". " + strings.ToUpper(more[:1]) + more[1:]
	}
	for _, verb := range []string{"Sets the planner's estimate of the cost of ", "Sets the ", "Sets "} {
		if rest, ok := strings.CutPrefix(text, verb); ok {
			text = strings.ToUpper(rest[:1]) + rest[1:]
			break
		}
	}
	return strings.TrimSuffix(strings.ReplaceAll(text, "|", "\\|"), ".")
}

func gucRow(g guc) string {
	kind := g.kind
	if g.unit != "" {
		kind += ", " + g.unit
	}
	if g.values != "" {
		kind += ": " + g.values
	}
	text := g.text
	if additions[g.name] == "" && g.more != "" { // else a page says more
		text += " " + g.more
	}
	return row(code(g.name), kind, code(g.value), g.setBy, explained(g.name, text))
}

func daemonRow(s daemonSetting) string {
	change := "restart"
	if s.reload {
		change = "reload"
	}
	return row(code(s.name), s.values, code(s.value), change, explained(s.name, strings.ToUpper(s.text[:1])+s.text[1:]))
}

func optionRow(o option) string { return row(code(o.name), o.objects, o.values, optionTexts[o.name]) }

// optionNames lists the options of an object in a sentence.
func optionNames(all []option, object string) string {
	var names []string
	for _, o := range all {
		if strings.Contains(o.objects, object) {
			names = append(names, code(o.name))
		}
	}
	return strings.Join(names, ", ")
}
