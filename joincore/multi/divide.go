package multi

import "gpujoin/joincore"

// Divide returns the input whose rows members can divide while each of them reads all
// other inputs whole, so that no rows have to be exchanged but partial groups. Where
// there are several, it is the one with the most bytes. ok is false if there is none: a
// side that other members read as well may not return rows of its own, as in a full join,
// and groups have to be mergeable.
func Divide(plan *joincore.Checked, inputs []*joincore.Relation) (input int, ok bool) {
	n := plan.Root
	for {
		switch node := n.(type) {
		case *joincore.Filter:
			n = node.Child
			continue
		case *joincore.Aggregate:
			if !mergeable(node) {
				return 0, false
			}
			n = node.Child
			continue
		}
		break
	}
	return largest(dividable(n), inputs)
}

// largest returns the input of most bytes.
func largest(list []int, inputs []*joincore.Relation) (input int, ok bool) {
	most := int64(-1)
	for _, i := range list {
		if b := Bytes(inputs[i]); b > most {
			input, most = i, b
		}
	}
	return input, most >= 0
}

// Bytes returns the size of a relation's columns.
func Bytes(r *joincore.Relation) int64 {
	width, heap := int64(0), int64(0)
	for _, c := range r.Columns {
		width += int64(c.Width)
	}
	for i := range r.Segments {
		for j := range r.Segments[i].Columns {
			heap += int64(len(r.Segments[i].Columns[j].Heap))
		}
	}
	return width*r.Rows() + heap
}

// dividable lists the inputs of scans, filters and joins that may be divided while all
// others are read whole.
func dividable(n joincore.Node) []int {
	switch n := n.(type) {
	case *joincore.Scan:
		return []int{n.Input}
	case *joincore.Filter:
		return dividable(n.Child)
	case *joincore.Join:
		var list []int
		if copyRight(n.Kind) {
			list = append(list, dividable(n.Left)...)
		}
		if copyLeft(n.Kind) {
			list = append(list, dividable(n.Right)...)
		}
		return list
	}
	return nil // an aggregate's groups are not divided as its rows are
}

// copyLeft and copyRight report whether several members may have the same rows of a side
// of a join. Rows that are returned once must be on one member only.
func copyLeft(k joincore.Kind) bool  { return k == joincore.Inner || k == joincore.Right }
func copyRight(k joincore.Kind) bool { return k != joincore.Right && k != joincore.Full }
