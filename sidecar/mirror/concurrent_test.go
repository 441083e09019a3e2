package mirror

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// Readers on other goroutines see whole transactions while the stream and rewriting go on. Each
// transaction moves something from one account to another, so the sum stays; the race
// detector sees whether a reader looks at bytes that the writer still changes.
func TestConcurrentReadersSeeWholeTransactions(t *testing.T) {
	const accounts, sum = 40, 40 * 1000
	account := func(id int64, balance int32) record {
		r := record{id: id, number: &balance}
		if balance%3 == 0 {
			text := fmt.Sprint("balance ", balance)
			r.text = &text
		}
		return r
	}
	var records []record
	balances := make([]int32, accounts)
	for i := range balances {
		balances[i] = sum / accounts
		records = append(records, account(int64(i), balances[i]))
	}
	m := ready(t, &heap{size: 4096}, records...)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var reads atomic.Int64
	all.Go(func() { m.s.Work(ctx) })
	for range 3 {
		all.Go(func() {
			for last := LSN(0); ctx.Err() == nil; {
				p := m.s.Pin()
				relation, err := p.Relation(1, []int{2, 1})
				if err != nil || p.Position() < last {
					t.Errorf("at %d after %d: %v", p.Position(), last, err)
					return
				}
				last = p.Position()
				got, rows := int64(0), 0
				for _, seg := range relation.Segments {
					for row := range seg.Rows {
						v := seg.Columns[0].Values[4*row:]
						balance := int32(v[0]) | int32(v[1])<<8 | int32(v[2])<<16 | int32(v[3])<<24
						got += int64(balance)
						if null := seg.Columns[1].Null(row); null == (balance%3 == 0) {
							t.Errorf("balance %d has a text: %v", balance, !null)
						}
						rows++
					}
				}
				if got != sum || rows != accounts {
					t.Errorf("%d rows with the sum %d", rows, got)
				}
				p.Close()
				reads.Add(1)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for i := 0; i < 1500 || reads.Load() < 300 && !t.Failed(); i++ {
		a, b, n := rnd.Int64N(accounts), rnd.Int64N(accounts-1), int32(rnd.IntN(100))
		if b >= a {
			b++
		}
		balances[a] -= n
		balances[b] += n
		m.changes(updateOf(1, account(a, balances[a])), updateOf(1, account(b, balances[b])))
	}
	cancel()
	all.Wait()
}
