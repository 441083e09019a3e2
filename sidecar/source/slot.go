package source

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const plugin = "pgoutput"

// slot is a replication slot of this session.
type slot struct {
	name     string
	start    LSN    // its stream has the transactions that commit from here
	snapshot string // of everything that committed before; valid until the connection's next command
}

// temporaryName returns a name that no other slot has.
func temporaryName(purpose string) string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	return fmt.Sprintf("gpujoin_%s_%s", purpose, hex.EncodeToString(id[:]))
}

// slotPatience is how long a slot may take until somebody is told what it waits for.
const slotPatience = 3 * time.Second

// createSlot makes a slot. It waits until all transactions of the source that are open and
// have written something have ended; if that takes long, it calls waiting. A temporary slot
// is dropped with its connection.
func createSlot(ctx context.Context, conn *pgconn.PgConn, name string, temporary, export bool, waiting func()) (slot, error) {
	defer time.AfterFunc(slotPatience, waiting).Stop()
	options := pglogrepl.CreateReplicationSlotOptions{Temporary: temporary, SnapshotAction: "NOEXPORT_SNAPSHOT"}
	if export {
		options.SnapshotAction = "EXPORT_SNAPSHOT"
	}
	r, err := pglogrepl.CreateReplicationSlot(ctx, conn, name, plugin, options)
	if err != nil {
		return slot{}, translate("creating a replication slot", err)
	}
	at, err := pglogrepl.ParseLSN(r.ConsistentPoint)
	if err != nil {
		return slot{}, errStream.because("a slot's position: %v", err)
	}
	return slot{name: name, start: LSN(at), snapshot: r.SnapshotName}, nil
}

// existing looks for a permanent slot. found: it is there and can be used; a slot that has
// lost its WAL is dropped.
func (s *server) existing(ctx context.Context, name string) (sl slot, found bool, err error) {
	var itsPlugin, status, confirmed string
	var here, active, twoPhase bool
	err = s.pool.QueryRow(ctx, `select coalesce(plugin, ''), coalesce(database = current_database(), false), active, coalesce(wal_status, ''),
		coalesce(confirmed_flush_lsn::text, '0/0'), two_phase from pg_catalog.pg_replication_slots where slot_name = $1`, name).
		Scan(&itsPlugin, &here, &active, &status, &confirmed, &twoPhase)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return slot{}, false, nil
	case err != nil:
		return slot{}, false, translate("looking for the slot", err)
	case itsPlugin != plugin || !here || twoPhase:
		return slot{}, false, errSlotForeign.because("%s has the plugin %q, two-phase %v, or belongs to another database", name, itsPlugin, twoPhase)
	case active:
		return slot{}, false, errSlotInUse.because("%s", name)
	case status == "lost":
		return slot{}, false, s.dropSlot(ctx, name)
	}
	at, err := pglogrepl.ParseLSN(confirmed)
	return slot{name: name, start: LSN(at)}, true, translate("looking for the slot", err)
}

// dropSlot drops a permanent slot that no connection uses.
func (s *server) dropSlot(ctx context.Context, name string) error {
	_, err := s.pool.Exec(ctx, "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = $1", name)
	return translate("dropping the slot", err)
}

// retained returns the bytes of WAL that the source keeps for slots, by name.
func (s *server) retained(ctx context.Context, names []string) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, `select slot_name, coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::int8
		from pg_catalog.pg_replication_slots where slot_name = any($1)`, names)
	if err != nil {
		return nil, translate("reading the slots", err)
	}
	bytes := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, translate("reading the slots", err)
		}
		bytes[name] = n
	}
	return bytes, translate("reading the slots", rows.Err())
}

// start begins to stream a slot's changes of a publication, from at or, if that is later,
// from the position that the slot has confirmed.
func start(ctx context.Context, conn *pgconn.PgConn, name string, at LSN, publication string) error {
	return translate("starting the replication", pglogrepl.StartReplication(ctx, conn, name, pglogrepl.LSN(at), pglogrepl.StartReplicationOptions{
		Mode: pglogrepl.LogicalReplication,
		PluginArgs: []string{"proto_version '1'", "binary 'true'",
			"publication_names " + quoteLiteral(quoteIdentifier(publication))},
	}))
}
