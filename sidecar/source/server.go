package source

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// server is the connections to a source. It is safe for concurrent use.
type server struct {
	pool   *pgxpool.Pool
	config *pgconn.Config // of any connection; a copy for each
	maker  string         // Options.Maker
}

// poolSize is for questions about the catalogue and for direct reads. Streams, loads and
// questions about positions have connections of their own.
const poolSize = 16

// newServer makes the pool, which connects when it is used.
func newServer(o Options) (*server, error) {
	config, err := o.Keywords.config()
	if err != nil {
		return nil, err
	}
	pc, err := pgxpool.ParseConfig("host=localhost sslmode=disable user=none sslrootcert='' sslcert='' sslkey=''")
	if err != nil {
		return nil, fmt.Errorf("the pool's configuration: %w", err)
	}
	pc.ConnConfig.Config = *config.Copy()
	pc.MaxConns, pc.MinConns = poolSize, 0
	pc.MaxConnIdleTime = time.Minute
	pool, err := pgxpool.NewWithConfig(context.Background(), pc)
	if err != nil {
		return nil, translate("connecting", err)
	}
	return &server{pool: pool, config: config, maker: o.Maker}, nil
}

func (s *server) close() { s.pool.Close() }

// replication opens a connection that understands the commands of logical replication.
func (s *server) replication(ctx context.Context) (*pgconn.PgConn, error) {
	c := s.config.Copy()
	c.RuntimeParams["replication"] = "database"
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, translate("connecting for replication", err)
	}
	return conn, nil
}

// plain opens a connection outside of the pool.
func (s *server) plain(ctx context.Context) (*pgconn.PgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, translate("connecting", err)
	}
	return conn, nil
}

// patient returns a statement, for the beginning of others, that lets transactions last,
// whatever the role's settings are: versions from 17 have a limit that older ones refuse.
func patient(conn *pgconn.PgConn) string {
	major, _, _ := strings.Cut(conn.ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 17 {
		return ""
	}
	return "SET transaction_timeout = 0; "
}

// hangUp closes a connection without waiting for the server.
func hangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is gone in any case
}

// Facts are what a source says of itself.
type Facts struct {
	Version   int // server_version_num
	WALLevel  string
	Encoding  string
	Standby   bool
	Slots     int // max_replication_slots
	FreeSlots int
	WALBlock  LSN // bytes of a page of WAL
	WALFile   LSN // bytes of a segment of WAL
}

const factsQuery = `
select current_setting('server_version_num')::int4, current_setting('wal_level'), current_setting('server_encoding'),
	pg_catalog.pg_is_in_recovery(), current_setting('max_replication_slots')::int4,
	(select pg_catalog.count(*) from pg_catalog.pg_replication_slots)::int4,
	current_setting('wal_block_size')::int8, pg_catalog.pg_size_bytes(current_setting('wal_segment_size'))`

// facts reads them.
func (s *server) facts(ctx context.Context) (Facts, error) {
	var f Facts
	var used int
	var block, file int64
	err := s.pool.QueryRow(ctx, factsQuery).Scan(&f.Version, &f.WALLevel, &f.Encoding, &f.Standby, &f.Slots, &used, &block, &file)
	f.FreeSlots, f.WALBlock, f.WALFile = f.Slots-used, LSN(block), LSN(file)
	return f, translate("reading its settings", err)
}

// firstMinor is the first minor version of each major one that decodes the changes of a
// table that is added to a publication while a transaction with changes of it is open:
// release notes of August 2025, "distribute invalidations to in-progress transactions".
var firstMinor = map[int]int{15: 14, 16: 10, 17: 6}

// check refuses a source from which nothing can be mirrored.
func (f Facts) check() error {
	major, minor := f.Version/10000, f.Version%10000
	version := fmt.Sprintf("it has version %d.%d", major, minor)
	switch {
	case major < 15:
		return errVersion.because("%s", version)
	case minor < firstMinor[major]:
		return errMinor.because("%s", version)
	case f.Standby:
		return errStandby
	case f.Encoding == "SQL_ASCII":
		return errEncoding
	case f.WALLevel != "logical":
		return errWALLevel.because("wal_level is %s", f.WALLevel)
	}
	return nil
}

// quoteIdentifier quotes a name for SQL.
func quoteIdentifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteLiteral quotes a text for SQL, whose strings have no escapes in these sessions, and
// for replication commands, whose strings never have.
func quoteLiteral(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
