package shm

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProtocolTables compares the byte tables of docs/internals/protocol.md with the
// mirror: every struct has a table, with every field at its offset.
func TestProtocolTables(t *testing.T) {
	b, err := os.ReadFile("../docs/internals/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	title := regexp.MustCompile("^### `(gj_\\w+)` \\((\\d+) bytes\\)$")
	row := regexp.MustCompile("^\\| (\\d+) \\| (\\d+) \\| `(\\w+)` ")
	seen := map[string]int{}
	var current reflect.Type
	var field int
	for n, line := range strings.Split(string(b), "\n") {
		if m := title.FindStringSubmatch(line); m != nil {
			v, ok := mirrors[m[1]]
			if !ok {
				t.Fatalf("line %d: no struct %s", n+1, m[1])
			}
			current, field = reflect.TypeOf(v), 0
			seen[m[1]] = current.NumField()
			if m[2] != strconv.Itoa(int(current.Size())) {
				t.Errorf("line %d: %s has %d bytes", n+1, m[1], current.Size())
			}
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || current == nil || field >= current.NumField() {
			continue
		}
		f := current.Field(field)
		field++
		seen[nameOf(current)]--
		if m[3] != f.Tag.Get("c") || m[1] != strconv.Itoa(int(f.Offset)) || m[2] != strconv.Itoa(int(f.Type.Size())) {
			t.Errorf("line %d: %s is %s at %d, %d bytes", n+1, f.Name, f.Tag.Get("c"), f.Offset, f.Type.Size())
		}
	}
	for name := range mirrors {
		if left, ok := seen[name]; !ok || left != 0 {
			t.Errorf("%s: has a table: %v, fields not in it: %d", name, ok, left)
		}
	}
}

func nameOf(typ reflect.Type) string {
	for name, v := range mirrors {
		if reflect.TypeOf(v) == typ {
			return name
		}
	}
	return ""
}

// TestProtocolMessages compares the table of messages with the types.
func TestProtocolMessages(t *testing.T) {
	b, err := os.ReadFile("../docs/internals/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([A-Z_]+) \| (B → D|D → B) \|`)
	seen := map[Message]bool{}
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		msg := Message(n)
		seen[msg] = true
		if msg.String() != m[2] || msg.FromDaemon() != (m[3] == "D → B") {
			t.Errorf("message %d is %s, from the daemon: %v", n, msg, msg.FromDaemon())
		}
	}
	for msg := range shapes {
		if !seen[msg] {
			t.Errorf("%s is not documented", msg)
		}
	}
}
