package rowid

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ptxModule is the text of a PTX module, by parts.
type ptxModule struct {
	header    string            // directives and variables
	declared  map[string]string // functions, in front of what calls them
	functions map[string]*ptxFunction
	order     []string
}

// ptxFunction is a kernel or a device function.
type ptxFunction struct {
	name         string
	kernel       bool
	head         string // up to the opening brace, with directives
	declarations []string
	body         []ptxStatement
	text         string // all of it
}

// ptxStatement is an instruction, or a block in braces that is not looked into.
type ptxStatement struct {
	label    string // in front of it
	guard    string // register; "": none
	negated  bool
	op       string // "": a block in braces, or nothing behind a label
	operands []string
	text     string // without label
	sets     []string
	uses     []string
}

var (
	ptxComment  = regexp.MustCompile(`//[^\n]*`)
	ptxRegister = regexp.MustCompile(`%[a-z]+[0-9]+`)
	ptxOpening  = regexp.MustCompile(`(?m)^(\.visible |\.weak )?\.(entry|func)\b`)
	ptxNaming   = regexp.MustCompile(`\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)`)
)

// parsePTX splits a module that nvcc has written.
func parsePTX(text string) (*ptxModule, error) {
	m := &ptxModule{declared: map[string]string{}, functions: map[string]*ptxFunction{}}
	var header strings.Builder
	for text != "" {
		at := ptxOpening.FindStringIndex(text)
		if at == nil {
			header.WriteString(text)
			break
		}
		header.WriteString(text[:at[0]])
		text = text[at[0]:]
		name := ptxNaming.FindStringSubmatch(text)
		if name == nil {
			return nil, fmt.Errorf("a function without a name: %.60q", text)
		}
		brace, end := strings.Index(text, "\n{"), strings.Index(text, ";")
		if brace < 0 || end >= 0 && end < brace { // a declaration
			if end < 0 {
				return nil, fmt.Errorf("function %s does not end", name[1])
			}
			m.declared[name[1]] = text[:end+1]
			text = text[end+1:]
			continue
		}
		length := strings.Index(text, "\n}")
		if length < brace+2 {
			return nil, fmt.Errorf("function %s does not end", name[1])
		}
		f := &ptxFunction{name: name[1], kernel: strings.Contains(text[:brace], ".entry"), head: text[:brace], text: text[:length+2]}
		m.functions[f.name] = f
		m.order = append(m.order, f.name)
		text = text[length+2:]
	}
	m.header = header.String()
	return m, nil
}

// parse reads the body of a function: declarations, then statements.
func (f *ptxFunction) parse(body string) error {
	label := ""
	add := func(s ptxStatement) {
		s.label, label = label, ""
		f.body = append(f.body, s)
	}
	for body = trimPTX(body); body != ""; body = trimPTX(body) {
		switch {
		case body[0] == '{':
			end := closingBrace(body)
			if end < 0 {
				return fmt.Errorf("a block does not end: %.60q", body)
			}
			add(braceBlock(body[:end+1]))
			body = body[end+1:]
		default:
			end := strings.IndexAny(body, ";:")
			if end < 0 {
				return fmt.Errorf("a statement does not end: %.60q", body)
			}
			if colon := body[end] == ':' && !strings.ContainsAny(body[:end], " \t"); colon {
				if label != "" { // two labels at one place
					add(ptxStatement{})
				}
				label, body = body[:end], body[end+1:]
				continue
			}
			end = strings.IndexByte(body, ';')
			text := strings.TrimSpace(body[:end+1])
			body = body[end+1:]
			switch {
			case strings.HasPrefix(text, ".pragma"):
			case strings.HasPrefix(text, "."):
				f.declarations = append(f.declarations, text)
			default:
				s, err := ptxStatementOf(text)
				if err != nil {
					return err
				}
				add(s)
			}
		}
	}
	if label != "" {
		add(ptxStatement{})
	}
	return nil
}

// closingBrace returns the index of the brace that closes the first one, or -1.
func closingBrace(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// pseudoInstruction begins a comment that is a pseudo-instruction.
const pseudoInstruction = "// gj."

// trimPTX removes space and comments in front.
func trimPTX(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if strings.HasPrefix(text, pseudoInstruction) {
			return text[len("// "):]
		}
		if !strings.HasPrefix(text, "//") {
			return text
		}
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			return ""
		}
		text = text[end:]
	}
}

// braceBlock makes a statement of a block in braces: it sets what its instructions set.
func braceBlock(text string) ptxStatement {
	s := ptxStatement{text: ptxComment.ReplaceAllString(text, "")}
	inner := strings.Trim(s.text, "{}")
	for _, part := range strings.Split(inner, ";") {
		if part = strings.TrimSpace(part); part == "" || part[0] == '.' {
			continue
		}
		in, err := ptxStatementOf(part + ";")
		if err != nil {
			continue
		}
		s.sets = append(s.sets, in.sets...)
		s.uses = append(s.uses, in.uses...)
	}
	return s
}

// ptxStatementOf reads an instruction with its semicolon.
func ptxStatementOf(text string) (ptxStatement, error) {
	s := ptxStatement{text: text}
	rest := strings.TrimSpace(strings.TrimSuffix(text, ";"))
	if rest == "" {
		return s, nil
	}
	if rest[0] == '@' {
		end := strings.IndexAny(rest, " \t") // rest does not end with it
		if end < 2 {
			return s, fmt.Errorf("a guard without an instruction: %q", text)
		}
		guard := rest[1:end]
		rest = strings.TrimSpace(rest[end:])
		s.guard, s.negated = strings.TrimPrefix(guard, "!"), guard[0] == '!'
		s.uses = append(s.uses, s.guard)
	}
	var list string
	if i := strings.IndexAny(rest, " \t\n"); i < 0 {
		s.op = rest
	} else {
		s.op, list = rest[:i], rest[i+1:]
	}
	s.operands = splitOperands(list)
	for i, o := range s.operands {
		registers := ptxRegister.FindAllString(o, -1)
		if i == 0 && s.hasResult() {
			s.sets = append(s.sets, registers...)
		} else {
			s.uses = append(s.uses, registers...)
		}
	}
	return s, nil
}

// splitOperands separates operands by commas outside of braces, brackets and parentheses.
func splitOperands(list string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(list[from:]); last != "" {
		out = append(out, last)
	}
	return out
}

// withoutResult are operations, up to the first dot, whose first operand is not set.
var withoutResult = map[string]bool{
	"st": true, "red": true, "bra": true, "ret": true, "exit": true, "trap": true, "bar": true, "barrier": true, "membar": true, "fence": true,
	"prefetch": true, "prefetchu": true, "cp": true, "nanosleep": true, "call": true, "discard": true, "applypriority": true, "brkpt": true,
}

func (s *ptxStatement) hasResult() bool {
	base, _, _ := strings.Cut(s.op, ".")
	return !withoutResult[base] || strings.HasPrefix(s.op, "bar.red") || strings.HasPrefix(s.op, "barrier.red")
}

// isJump says whether control may leave behind the statement.
func (s *ptxStatement) isJump() bool {
	return s.op == "bra" || s.op == "bra.uni" || s.op == "ret" || s.op == "ret.uni" || s.op == "exit" || s.op == "trap"
}

// ptxLiteral reads an integer.
func ptxLiteral(text string) (uint64, bool) {
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(v), true
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	return v, err == nil
}
