package multi

import (
	"fmt"
	"math"
)

// tpchJoin is a join of TPC-H: its rows at scale factor 1, as the filters of its query and the joins
// below it leave them, counted in generated data. The build side is the smaller one.
type tpchJoin struct {
	name                 string
	build, probe, result int64
	keys                 int64 // distinct build keys; 0: as many as build rows
	largest              int64 // key
	buildWidths          []int // bytes of the payload that the query reads
	probeWidths          []int
}

// Widths of values. Decimals have 8 bytes, and texts that a query compares or groups by are codes
// of 4 bytes.
const (
	tpchInt, tpchDate, tpchText, tpchDecimal = 4, 4, 4, 8
	// tpchOrder is the width of a key of orders, which depends on the scale factor.
	tpchOrder = 0
)

// Largest keys at scale factor 1. A quarter of the numbers of orders is in use.
const (
	tpchCustomers, tpchOrders, tpchParts, tpchSuppliers = 150_000, 6_000_000, 200_000, 10_000
)

// tpchJoins returns the joins of queries 3, 5, 10, 12, 14 and 19 that have more than a nation's rows
// on a side.
func tpchJoins() []tpchJoin {
	price := []int{tpchDecimal, tpchDecimal} // and discount
	return []tpchJoin{
		{name: "q3-customer-orders", build: 30_142, probe: 727_305, result: 147_126, largest: tpchCustomers,
			probeWidths: []int{tpchOrder, tpchDate, tpchInt}},
		{name: "q3-orders-lineitem", build: 147_126, probe: 3_241_776, result: 30_519, largest: tpchOrders,
			buildWidths: []int{tpchDate, tpchInt}, probeWidths: price},
		{name: "q5-customer-orders", build: 30_183, probe: 227_597, result: 46_008, largest: tpchCustomers,
			buildWidths: []int{tpchInt}, probeWidths: []int{tpchOrder}},
		{name: "q5-orders-lineitem", build: 46_008, probe: 6_001_215, result: 184_082, largest: tpchOrders,
			buildWidths: []int{tpchInt}, probeWidths: append([]int{tpchInt}, price...)},
		{name: "q5-supplier-lineitem", build: 2_003, probe: 184_082, result: 36_718, largest: tpchSuppliers,
			buildWidths: []int{tpchInt}, probeWidths: append([]int{tpchInt}, price...)},
		{name: "q10-orders-lineitem", build: 57_069, probe: 1_478_870, result: 114_705, largest: tpchOrders,
			buildWidths: []int{tpchInt}, probeWidths: price},
		// The other columns of a customer are texts, fetched by a row id of 4 bytes.
		{name: "q10-lineitem-customer", build: 114_705, keys: 37_967, probe: 150_000, result: 114_705, largest: tpchCustomers,
			buildWidths: price, probeWidths: []int{tpchInt, tpchDecimal, 4}},
		{name: "q12-lineitem-orders", build: 30_988, keys: 29_099, probe: 1_500_000, result: 30_988, largest: tpchOrders,
			buildWidths: []int{tpchText}, probeWidths: []int{tpchText}},
		{name: "q14-lineitem-part", build: 75_983, keys: 63_112, probe: 200_000, result: 75_983, largest: tpchParts,
			buildWidths: price, probeWidths: []int{tpchText}},
		{name: "q19-part-lineitem", build: 485, probe: 128_371, result: 323, largest: tpchParts,
			buildWidths: []int{tpchText, tpchText, tpchInt}, probeWidths: append([]int{tpchDecimal}, price...)},
	}
}

// mostTPCH is the largest scale factor: rows of lineitem are numbered by 32 bits.
const mostTPCH = 700

// tpchRows are the rows of a join at a scale factor. Probe keys are drawn from a domain of which the
// build keys are a part, such that the result has as many rows as it should.
type tpchRows struct {
	build, probe, distinct, domain int64
	key                            int // bytes
	buildWidths, probeWidths       []int
}

// at returns the rows at a scale factor.
func (j tpchJoin) at(sf float64) tpchRows {
	keys := j.keys
	if keys == 0 {
		keys = j.build
	}
	r := tpchRows{build: scaled(j.build, sf), probe: scaled(j.probe, sf), distinct: scaled(keys, sf)}
	r.domain = max(r.distinct, int64(math.Round(float64(r.build)*float64(j.probe)/float64(j.result))))
	r.key = keyBytes(max(scaled(j.largest, sf), r.domain))
	order := keyBytes(scaled(tpchOrders, sf))
	r.buildWidths, r.probeWidths = widthsAt(j.buildWidths, order), widthsAt(j.probeWidths, order)
	return r
}

// scaled returns as many rows as there are at a scale factor, at least one.
func scaled(rows int64, sf float64) int64 {
	return max(1, int64(math.Round(float64(rows)*sf)))
}

// keyBytes returns the width of keys up to the given one.
func keyBytes(largest int64) int {
	if largest > 1<<32 {
		return 8
	}
	return 4
}

// widthsAt replaces the width of keys of orders.
func widthsAt(widths []int, order int) (list []int) {
	for _, w := range widths {
		if w == tpchOrder {
			w = order
		}
		list = append(list, w)
	}
	return list
}

// alone names a join on one device.
const alone = "alone"

// tpchGain is how much faster than one device several ones are to be, unless something bounds them.
const tpchGain = 1.6

// boundBy says why devices are not faster by tpchGain than one that takes the given time: ms is the
// time of the fastest way, of which links are busy for the given part; "" if they are.
func boundBy(how string, one, ms, links float64, devices int) string {
	beyond := ms - one/float64(devices) // an even part of the work
	switch {
	case one >= tpchGain*ms:
		return ""
	case how == alone:
		return "its size: fastest on one device"
	case links >= beyond/2:
		return fmt.Sprintf("links: %.2f ms of %.2f", links, ms)
	}
	return fmt.Sprintf("its size: several devices add %.2f ms to even parts", beyond)
}
