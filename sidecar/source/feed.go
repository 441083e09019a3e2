package source

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// statusInterval is the time between two reports to the source: far below wal_sender_timeout.
const statusInterval = time.Second

// feed is a connection that streams a slot. One goroutine always reads it, so that the
// source's sender never waits longer than the queue is full; another one reports the
// confirmed position each second, whatever the first one and the appliers do.
type feed struct {
	conn  *pgconn.PgConn
	queue *queue

	confirmed atomic.Uint64 // the LSN up to which the source may forget the changes
	heard     atomic.Int64  // time of the last message, in nanoseconds
	ask       chan struct{} // the source asks for a report
	end       context.CancelFunc
	ended     context.Context
	all       sync.WaitGroup
	once      sync.Once
}

// openFeed begins to stream. The connection belongs to the feed.
func openFeed(ctx context.Context, conn *pgconn.PgConn, sl slot, at LSN, o Options) (*feed, error) {
	if err := start(ctx, conn, sl.name, at, o.Publication); err != nil {
		return nil, err
	}
	f := &feed{conn: conn, queue: newQueue(o.Queue), ask: make(chan struct{}, 1)}
	f.confirmed.Store(uint64(max(at, sl.start)))
	f.heard.Store(time.Now().UnixNano())
	f.ended, f.end = context.WithCancel(context.Background())
	f.all.Go(f.read)
	f.all.Go(func() { f.report(o.Silence) })
	return f, nil
}

// close ends both goroutines and the connection, and with it a temporary slot. It may be
// called again, and while frames are read from the queue.
func (f *feed) close() { f.once.Do(f.shut) }

func (f *feed) shut() {
	f.end()
	f.queue.close()
	_ = f.conn.Conn().SetDeadline(time.Unix(1, 0)) // ends reading and writing; a broken connection ends by itself
	f.all.Wait()
	_ = f.conn.Conn().SetDeadline(time.Time{})
	hangUp(f.conn)
}

// read puts everything that arrives into the queue.
func (f *feed) read() {
	for {
		message, err := f.conn.ReceiveMessage(context.Background())
		if err != nil {
			f.queue.fail(translate("receiving changes", err))
			return
		}
		f.heard.Store(time.Now().UnixNano())
		switch m := message.(type) {
		case *pgproto3.CopyData:
			if len(m.Data) == 0 {
				f.queue.fail(errStream.because("an empty frame"))
				return
			}
			if m.Data[0] == pglogrepl.PrimaryKeepaliveMessageByteID {
				k, err := pglogrepl.ParsePrimaryKeepaliveMessage(m.Data[1:])
				if err == nil && k.ReplyRequested {
					f.reply()
				}
			}
			if !f.queue.put(m.Data) {
				return
			}
		case *pgproto3.ErrorResponse:
			f.queue.fail(translate("sending changes", pgconn.ErrorResponseToPgError(m)))
			return
		case *pgproto3.CopyDone, *pgproto3.CommandComplete, *pgproto3.ReadyForQuery:
			f.queue.fail(errLost.because("the source ended the stream"))
			return
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			f.queue.fail(errStream.because("a message of type %T", m))
			return
		}
	}
}

func (f *feed) reply() {
	select {
	case f.ask <- struct{}{}:
	default:
	}
}

// report sends the confirmed position each second and when the source asks. It ends a
// connection on which nothing has arrived for longer than silence, although it asked.
func (f *feed) report(silence time.Duration) {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	for {
		select {
		case <-f.ended.Done():
			return
		case <-f.ask:
		case <-tick.C:
		}
		quiet := time.Since(time.Unix(0, f.heard.Load()))
		if f.queue.waits() {
			quiet = 0
			f.heard.Store(time.Now().UnixNano())
		}
		if quiet > silence {
			f.queue.fail(errLost.because("nothing arrived for %v", silence))
			_ = f.conn.Conn().SetDeadline(time.Unix(1, 0)) // the reader ends
			return
		}
		at := pglogrepl.LSN(f.confirmed.Load())
		err := pglogrepl.SendStandbyStatusUpdate(context.Background(), f.conn, pglogrepl.StandbyStatusUpdate{
			WALWritePosition: at, WALFlushPosition: at, WALApplyPosition: at, ClientTime: time.Now(), ReplyRequested: quiet > silence/3})
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				f.queue.fail(translate("reporting the position", err))
			}
			return
		}
	}
}

// confirm says that the source may forget the changes before a position.
func (f *feed) confirm(at LSN) { f.confirmed.Store(uint64(at)) }
