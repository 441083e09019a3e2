package sim

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

type event struct {
	at     time.Duration
	serial int // events at one time happen in the order of their making
	do     func() error
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop implements heap.Interface.
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// at schedules something.
func (s *simulator) at(t time.Duration, do func() error) {
	s.serial++
	heap.Push(&s.events, event{t, s.serial, do})
}

func sortBy[T any](list []T, key func(T) float64) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
