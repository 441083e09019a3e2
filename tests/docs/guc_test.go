package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// guc is a setting of the extension, as the C code defines it.
type guc struct {
	name, kind, unit string // kind: boolean, integer, real, string or enum
	value            string // the default, as SHOW prints it
	values           string // the possible ones; "": all of the kind
	setBy            string
	text, more       string
	hidden           bool // not for configuration files: a setting of developers
}

var definition = regexp.MustCompile(`\b(?:DefineCustom(Bool|Int|Real|String|Enum)Variable|define_(bool|cost))\(`)

// gucs returns the settings that a C file defines, in their order.
func gucs(t *testing.T, source string) []guc {
	t.Helper()
	var out []guc
	for _, m := range definition.FindAllStringSubmatchIndex(source, -1) {
		kind := strings.ToLower(source[max(m[2], m[4]):max(m[3], m[5])])
		args := arguments(source[m[1]:])
		if !strings.HasPrefix(args[0], `"`) { // the wrapper itself
			continue
		}
		out = append(out, newGUC(t, source, kind, args))
	}
	return out
}

// arguments splits the arguments of a call, behind whose opening parenthesis text begins.
func arguments(text string) []string {
	var out []string
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ',' && depth == 0, c == ')':
			out = append(out, strings.TrimSpace(text[start:i]))
			if c == ')' {
				return out
			}
			start = i + 1
		}
	}
	return out
}

// newGUC reads the arguments of a call; what the wrappers of options.c leave out is as they have it.
func newGUC(t *testing.T, source, kind string, args []string) guc {
	t.Helper()
	g := guc{name: literal(t, args[0]), text: literal(t, args[1]), setBy: "everybody"}
	if kind == "cost" {
		g.kind, g.value, g.values = "real", initial(t, source, args[2]), "0 or more"
		return g
	}
	if args[2] != "NULL" {
		g.more = literal(t, args[2])
	}
	boot, rest := initial(t, source, args[3]), args[4:]
	if len(rest) > 1 { // not define_bool
		if strings.HasPrefix(rest[0], `"`) {
			boot = literal(t, rest[0])
		}
		rest = rest[1:]
	}
	switch kind {
	case "bool":
		g.kind, g.value, g.values = "boolean", map[string]string{"true": "on", "false": "off"}[boot], ""
	case "int", "real":
		g.kind, g.value, g.values = map[string]string{"int": "integer", "real": "real"}[kind], boot, between(rest[0], rest[1])
		rest = rest[2:]
	case "string":
		g.kind, g.value = "string", boot
	case "enum":
		g.kind = "enum"
		g.value, g.values = choices(t, source, rest[0], boot)
		rest = rest[1:]
	}
	if len(rest) > 1 {
		g.setBy = context(t, rest[0])
		rest = rest[1:]
	}
	g.hidden = strings.Contains(rest[0], "GUC_NOT_IN_SAMPLE")
	for flag, unit := range map[string]string{"GUC_UNIT_MS": "ms", "GUC_UNIT_KB": "kB"} {
		if strings.Contains(rest[0], flag) {
			g.unit = unit
		}
	}
	if n, err := strconv.Atoi(g.value); err == nil && g.unit == "ms" && n%1000 == 0 {
		g.value = fmt.Sprintf("%ds", n/1000)
	}
	return g
}

func literal(t *testing.T, text string) string {
	t.Helper()
	s, err := strconv.Unquote(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// initial returns the value with which a variable is defined; "": it is set by the call.
func initial(t *testing.T, source, variable string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^(?:static )?(?:bool|int|double|char)\s+\*?` + strings.TrimPrefix(variable, "&") + ` = ([^;]+);`).FindStringSubmatch(source)
	if m == nil {
		t.Fatalf("no definition of %s", variable)
	}
	return m[1]
}

// between says what the limits of a number allow. The largest numbers of their types are no limits.
func between(low, high string) string {
	switch high {
	case "INT_MAX", "DBL_MAX", "MAX_KILOBYTES":
		return low + " or more"
	}
	return low + " to " + high
}

// choices returns the values of an enum, and that of its default.
func choices(t *testing.T, source, array, boot string) (value, values string) {
	t.Helper()
	_, entries, _ := strings.Cut(source, "config_enum_entry "+array+"[] =")
	entries, _, _ = strings.Cut(entries, "{NULL")
	var names []string
	for _, m := range regexp.MustCompile(`\{"(\S+)", (\w+), false\}`).FindAllStringSubmatch(entries, -1) {
		names = append(names, "`"+m[1]+"`")
		if m[2] == boot {
			value = m[1]
		}
	}
	if value == "" {
		t.Fatalf("%s has no value %s", array, boot)
	}
	return value, strings.Join(names, ", ")
}

func context(t *testing.T, text string) string {
	t.Helper()
	for name, who := range map[string]string{"PGC_USERSET": "everybody", "PGC_SUSET": "superusers"} {
		if text == name {
			return who
		}
	}
	if !strings.Contains(text, "PGC_POSTMASTER") {
		t.Fatalf("unknown context %s", text)
	}
	return "the server's start"
}
