// Package sqllogic runs files of the sqllogictest format, as DuckDB and others
// write them, and compares native with offloaded results. The results that the
// files contain are another system's and are not used.
package sqllogic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Record is a statement or a query of a file.
type Record struct {
	Line  int // of its first line of SQL
	Query bool
	SQL   string
}

// maxRecords bounds the records of a file whose loops have been unrolled.
const maxRecords = 4000

// lists are what some names in angle brackets stand for in foreach; other names
// stand for types that PostgreSQL lacks.
var lists = map[string][]string{
	"<numeric>":  {"smallint", "integer", "bigint", "real", "double precision", "numeric"},
	"<integral>": {"smallint", "integer", "bigint"},
	"<signed>":   {"smallint", "integer", "bigint"},
}

// Parse returns the records of a file in the order of their execution, with loops
// unrolled. Directives of other systems are ignored.
func Parse(text string) ([]Record, error) {
	p := &parser{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	p.block(0, nil, false)
	return p.records, p.err
}

type parser struct {
	lines   []string
	records []Record
	skip    bool // after "mode skip"
	halted  bool
	err     error
}

func (p *parser) fail(line int, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("line %d: %s", line+1, fmt.Sprintf(format, args...))
	}
}

// variable is a loop's variable and its value.
type variable struct{ name, value string }

// block reads from line i to the end of the file, or of a loop, and returns the
// next line.
func (p *parser) block(i int, vars []variable, inLoop bool) int {
	skipNext := false
	for i < len(p.lines) && !p.halted && p.err == nil {
		words := strings.Fields(p.lines[i])
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			i++
			continue
		}
		switch words[0] {
		case "statement", "query":
			i = p.record(i, words, vars, skipNext)
			skipNext = false
		case "skipif", "onlyif":
			skipNext = skipNext || applies(words[1:], vars) == (words[0] == "skipif")
			i++
		case "mode":
			if len(words) > 1 && (words[1] == "skip" || words[1] == "unskip") {
				p.skip = words[1] == "skip"
			}
			i++
		case "halt":
			p.halted = !skipNext
			skipNext = false
			i++
		case "loop", "foreach", "concurrentloop", "concurrentforeach":
			i = p.loop(i, words, vars)
		case "endloop":
			if !inLoop {
				p.fail(i, "endloop without a loop")
			}
			return i + 1
		default: // of no meaning here: require, load, hash-threshold ...
			i++
		}
	}
	if inLoop && !p.halted {
		p.fail(len(p.lines)-1, "a loop has no endloop")
	}
	return i
}

// applies evaluates the condition of skipif and onlyif: a system's name, or a
// comparison of a variable.
func applies(words []string, vars []variable) bool {
	condition := strings.Join(words, "")
	name, value, compares := strings.Cut(condition, "=")
	if !compares {
		return condition == "postgresql" || condition == "postgres"
	}
	return slices.Contains(vars, variable{strings.TrimSuffix(name, "!"), value}) != strings.HasSuffix(name, "!")
}

// record reads a statement or query, and its expected result.
func (p *parser) record(i int, words []string, vars []variable, skip bool) int {
	r := Record{Line: i + 2, Query: words[0] == "query"}
	var sql []string
	for i++; i < len(p.lines) && p.lines[i] != "" && !strings.HasPrefix(p.lines[i], "----"); i++ {
		sql = append(sql, p.lines[i])
	}
	for ; i < len(p.lines) && p.lines[i] != ""; i++ {
		continue
	}
	r.SQL = strings.TrimRight(strings.TrimSpace(substitute(strings.Join(sql, "\n"), vars)), "; \n")
	switch {
	case skip || p.skip || r.SQL == "":
	case len(p.records) == maxRecords:
		p.halted = true
	default:
		p.records = append(p.records, r)
	}
	return i
}

func substitute(sql string, vars []variable) string {
	for _, v := range vars {
		sql = strings.ReplaceAll(sql, "${"+v.name+"}", v.value)
		sql = strings.ReplaceAll(sql, "{"+v.name+"}", v.value)
	}
	return sql
}

// loop unrolls a loop and returns the line after it.
func (p *parser) loop(i int, words []string, vars []variable) int {
	turns, err := turns(words)
	if err != nil {
		p.fail(i, "%v", err)
		return i
	}
	skipped, end := p.skip, 0
	if len(turns) == 0 {
		turns, p.skip = [][]variable{nil}, true // finds the loop's end
	}
	for _, turn := range turns {
		end = p.block(i+1, slices.Concat(turn, vars), true)
		if p.halted || p.err != nil {
			break
		}
	}
	p.skip = skipped
	return end
}

// turns returns the variables of each turn of a loop.
func turns(words []string) ([][]variable, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("%s has no variable", words[0])
	}
	var all [][]variable
	if strings.HasSuffix(words[0], "loop") {
		if len(words) < 4 {
			return nil, fmt.Errorf("%s %s has no bounds", words[0], words[1])
		}
		from, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, err
		}
		to, err := strconv.Atoi(words[3])
		if err != nil {
			return nil, err
		}
		for n := from; n < to && len(all) < maxRecords; n++ {
			all = append(all, []variable{{words[1], strconv.Itoa(n)}})
		}
		return all, nil
	}
	names := strings.Split(words[1], ",")
	for _, word := range words[2:] {
		values, known := lists[word]
		if !known {
			values = []string{word}
		}
		for _, value := range values {
			turn := []variable{}
			for i, part := range strings.SplitN(value, ",", len(names)) {
				turn = append(turn, variable{names[i], strings.Trim(part, `"`)})
			}
			all = append(all, turn)
		}
	}
	return all, nil
}
