package mirrorcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
)

// writer changes the source's tables by transactions, each of which keeps every invariant,
// and counts them in its row of beats.
type writer struct {
	*client
	w        int
	n        int64 // transactions of which the commit is known
	order    int64
	open     []int64 // own orders
	prepared int
}

func (w *writer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if w.world.behind.Load() {
			w.pause(ctx, w.world.pause)
			continue
		}
		w.world.gate.RLock()
		err := w.connected(ctx)
		if err == nil && ctx.Err() == nil {
			err = w.one()
		}
		w.world.gate.RUnlock()
		if err != nil && ctx.Err() == nil && !w.excused(err) {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.pause(ctx, w.world.pause)
	}
	return nil
}

// connected opens the session, if the source has ended it.
func (w *writer) connected(ctx context.Context) error {
	fresh, err := w.connect(ctx, w.world.Source)
	if err != nil || !fresh {
		return err
	}
	if err := endPrepared(ctx, w.s, fmt.Sprintf("w%d %%", w.w)); err != nil {
		return err
	}
	n, err := w.value(fmt.Sprintf("select n from beats where w = %d", w.w))
	if err != nil {
		return err
	}
	// A transaction whose end is not known may have counted a beat and changed the own orders.
	if _, err = fmt.Sscan(n, &w.n); err != nil {
		return err
	}
	w.world.committed[w.w-1].Store(w.n)
	return w.readOrders()
}

func (w *writer) readOrders() error {
	r, err := w.query(fmt.Sprintf("select id from orders where id %% %d = %d", writers, w.w-1))
	if err != nil {
		return err
	}
	w.open = nil
	for _, row := range r.Rows {
		var id int64
		if _, err := fmt.Sscan(row, &id); err != nil {
			return err
		}
		w.open, w.order = append(w.open, id), max(w.order, id/writers+1)
	}
	return nil
}

// excused reports whether other writers or a fault explain an error.
func (w *writer) excused(err error) bool {
	switch harness.SQLState(err) {
	case "40P01", "40001", "55P03", "25P02":
		return true
	}
	return errors.Is(err, errLost) || lost(err)
}

// one runs one transaction.
func (w *writer) one() error {
	switch k := w.IntN(1000); {
	case k < 450:
		return w.commit(w.transfer()...)
	case k < 670:
		return w.newOrder()
	case k < 790:
		return w.cancelOrder()
	case k < 870:
		return w.commit(w.document())
	case k < 950:
		return w.commit(w.swap()...)
	case k < 990:
		id := 1 + w.IntN(w.world.sizes.loose)
		return w.commit(fmt.Sprintf("update loose set n = n + 1 where id = %d", id), fmt.Sprintf("update pairs set n = n + 1 where id = %d", id))
	case k < 997:
		return w.copyBatch()
	default:
		return w.commit(fmt.Sprintf("update big set v = v + 1, t = case when id %% 7 = %d then 'changed ' || id else t end", w.IntN(7)))
	}
}

// commit runs statements in a transaction: plainly, with parts that are rolled back, or in
// two phases. The beat is counted last, so that other writers' rows are locked for less time.
func (w *writer) commit(statements ...string) error {
	beat := fmt.Sprintf("update beats set n = n + 1 where w = %d", w.w)
	script := append([]string{"begin"}, statements...)
	end := []string{"commit"}
	switch w.IntN(12) {
	case 0: // a part is rolled back
		script = append([]string{"begin", "savepoint a", "update debit set amount = amount + 1000000 where id < 20", "delete from credit where id = 7", "rollback to a"}, statements...)
	case 1:
		script = append(script, "savepoint b", "insert into docs select 1000000 + i, 1, 'no', 'no' from generate_series(1, 50) i", "update stock set quantity = 0 where product = 3", "rollback to b")
	case 2: // all is rolled back
		return w.script(append(script, beat, "rollback")...)
	case 3:
		w.prepared++
		name := fmt.Sprintf("w%d %d %d", w.w, w.n, w.prepared)
		end = []string{"prepare transaction '" + name + "'", fmt.Sprintf("select pg_sleep(%d / 1000.0)", w.IntN(30)), "commit prepared '" + name + "'"}
	}
	return w.finish(append(append(script, beat), end...)...)
}

// finish runs a transaction that counts one beat, and publishes that it has committed.
func (w *writer) finish(script ...string) error {
	if err := w.script(script...); err != nil {
		w.close() // what has committed is read again
		return err
	}
	w.n++
	w.world.committed[w.w-1].Store(w.n)
	w.world.commits.Add(1)
	return nil
}

func (w *writer) transfer() []string {
	from, to, amount := 1+w.IntN(w.world.sizes.accounts), 1+w.IntN(w.world.sizes.accounts), w.IntN(50)
	note := one(w.Rand, "", "", ", note = null", fmt.Sprintf(", note = 'moved %d'", amount))
	return []string{
		fmt.Sprintf("update debit set amount = amount - %d, moves = moves + 1%s where id = %d", amount, note, from),
		fmt.Sprintf("update credit set amount = amount + %d, moves = moves + 1 where id = %d", amount, to),
		fmt.Sprintf("update beats set transfers = transfers + 1 where w = %d", w.w),
	}
}

func (w *writer) newOrder() error {
	if len(w.open) > 1500 {
		return w.cancelOrder()
	}
	w.order++
	id := w.order*writers + int64(w.w-1)
	first, count := 1+w.IntN(w.world.sizes.products-8), 1+w.IntN(8)
	lines := make([]string, count)
	for i := range lines {
		lines[i] = fmt.Sprintf("(%d, %d, %d, %d, %d.%02d)", id, i+1, first+i, 1+w.IntN(9), w.IntN(200), w.IntN(100))
	}
	err := w.commit(
		fmt.Sprintf("insert into lines values %s", strings.Join(lines, ", ")),
		fmt.Sprintf("insert into orders select %d, %d, sum(quantity * price), count(*), clock_timestamp() from lines where id = %d", id, w.IntN(1000), id),
		fmt.Sprintf("update stock set quantity = stock.quantity - l.quantity from lines l where l.id = %d and l.product = stock.product", id))
	if err == nil {
		return w.readOne(id)
	}
	return err
}

// readOne remembers an order, unless its transaction was rolled back.
func (w *writer) readOne(id int64) error {
	n, err := w.value(fmt.Sprintf("select count(*) from orders where id = %d", id))
	if err == nil && n == "1" {
		w.open = append(w.open, id)
	}
	return err
}

func (w *writer) cancelOrder() error {
	if len(w.open) == 0 {
		return nil
	}
	i := w.IntN(len(w.open))
	id := w.open[i]
	w.open[i] = w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	return w.commit(
		fmt.Sprintf("update stock set quantity = stock.quantity + l.quantity from lines l where l.id = %d and l.product = stock.product", id),
		fmt.Sprintf("delete from lines where id = %d", id), fmt.Sprintf("delete from orders where id = %d", id))
}

// document changes a document: its body, which is stored out of line, or another column.
func (w *writer) document() string {
	id := 1 + w.IntN(w.world.sizes.docs)
	if w.IntN(2) == 0 {
		return fmt.Sprintf("update docs set v = v + 1 where id between %d and %d", id, id+5)
	}
	return fmt.Sprintf(`update docs set v = v + 1, body = x.body, sum = md5(x.body) from (select coalesce(string_agg(md5(j || ' %d'), ''), '') body
		from generate_series(1, %d) j) x where id = %d`, w.Int64(), w.IntN(400), id)
}

// swap changes keys, of rows that no other writer changes.
func (w *writer) swap() []string {
	k := w.w + writers*w.IntN(w.world.sizes.swaps/writers)
	return []string{fmt.Sprintf("update swaps set id = -id where abs(id) in (%d, %d)", k, w.w)}
}

// copyBatch replaces all rows of a table.
func (w *writer) copyBatch() error {
	mark := w.Int64()
	var rows strings.Builder
	for i := range w.world.sizes.batch {
		fmt.Fprintf(&rows, "%d\t%d\t%x\n", i+1, mark, mark&0xffff)
	}
	if err := w.script("begin", "truncate batch"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := w.s.Conn().CopyFrom(ctx, strings.NewReader(rows.String()), "copy batch from stdin"); err != nil {
		w.close()
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return w.finish(fmt.Sprintf("update beats set n = n + 1 where w = %d", w.w), "commit")
}
