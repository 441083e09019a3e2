package differential

import "strings"

// Node is a part of a query's text: SQL around children that are nodes too. A
// node may occur in several places; a change of it changes all of them.
type Node struct {
	// Kind is what the text stands for, for example an "int" expression. A node
	// may be replaced by any node below it of its kind. "" is never replaced.
	Kind     string
	parts    []string // the text before, between and after the children
	children []*Node

	// A list's children can be dropped. It consists of prefix, the children with
	// separator between them, and suffix; it is empty without children.
	list                      bool
	prefix, separator, suffix string
	atLeast                   int // children
}

// text makes a node of SQL whose %s are the children.
func text(kind, pattern string, children ...*Node) *Node {
	n := &Node{Kind: kind, parts: strings.Split(pattern, "%s"), children: children}
	if len(n.parts) != len(children)+1 {
		panic("differential: " + pattern)
	}
	return n
}

func list(prefix, separator, suffix string, atLeast int, children ...*Node) *Node {
	return &Node{list: true, prefix: prefix, separator: separator, suffix: suffix, atLeast: atLeast, children: children}
}

// String returns the SQL.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	if n.list {
		if len(n.children) == 0 {
			return
		}
		b.WriteString(n.prefix)
		for i, c := range n.children {
			if i > 0 {
				b.WriteString(n.separator)
			}
			c.write(b)
		}
		b.WriteString(n.suffix)
		return
	}
	b.WriteString(n.parts[0])
	for i, c := range n.children {
		c.write(b)
		b.WriteString(n.parts[i+1])
	}
}

// all appends the node and those below it, each once.
func (n *Node) all(found []*Node) []*Node {
	for _, f := range found {
		if f == n {
			return found
		}
	}
	found = append(found, n)
	for _, c := range n.children {
		found = c.all(found)
	}
	return found
}

// simplest is the text that may stand for an expression of a kind.
var simplest = map[string]string{
	"int": "0", "numeric": "0.0", "text": "''", "condition": "true", "bool": "true",
	"date": "date '2020-01-01'", "timestamp": "timestamp '2020-01-01'",
}

// Reduce makes the query shorter as long as stays holds. What results need not
// be valid SQL: stays must reject such a query.
func (n *Node) Reduce(stays func() bool) {
	for shorter := true; shorter; {
		shorter = false
		for _, part := range n.all(nil) {
			if part.reduce(stays) {
				shorter = true
			}
		}
	}
}

// try makes *n another node, and undoes that unless stays holds.
func (n *Node) try(other Node, stays func() bool) bool {
	before := *n
	*n = other
	if stays() {
		return true
	}
	*n = before
	return false
}

func (n *Node) reduce(stays func() bool) bool {
	if n.list {
		return n.reduceList(stays)
	}
	if n.Kind == "" {
		return false
	}
	for _, below := range n.all(nil)[1:] {
		if below.Kind == n.Kind && n.try(*below, stays) {
			return true
		}
	}
	constant, known := simplest[n.Kind]
	return known && len(n.String()) > len(constant) && n.try(*text(n.Kind, constant), stays)
}

func (n *Node) reduceList(stays func() bool) bool {
	shorter := false
	for i := len(n.children) - 1; i >= 0 && len(n.children) > n.atLeast; i-- {
		other := *n
		other.children = append(append([]*Node{}, n.children[:i]...), n.children[i+1:]...)
		if n.try(other, stays) {
			shorter = true
		}
	}
	return shorter
}
