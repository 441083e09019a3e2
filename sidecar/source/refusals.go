package source

// The refusals: everything that a source or its options may lack, with what to do. A
// refusal that needs names is completed by because and advising.
var (
	errOption = &Error{SQLState: "HV00D", Message: "the server has an option that is not supported"}
	errValue  = &Error{SQLState: "HV024", Message: "the server has an option with a value that is not valid"}

	errUnreachable = &Error{SQLState: "08001", Message: "could not connect to the source",
		Hint: "check the options host and port, and that the source accepts connections from this machine"}
	errTimeout = &Error{SQLState: "08001", Message: "the source did not answer in time",
		Hint: "check the network, or raise connect_timeout"}
	errLost = &Error{SQLState: "08006", Message: "the connection to the source was lost",
		Hint: "the daemon connects again by itself"}
	errTLS = &Error{SQLState: "08001", Message: "the source does not offer TLS",
		Hint: "set ssl = on at the source, or the option sslmode to prefer or disable if the network is trusted"}
	errCertificate = &Error{SQLState: "08001", Message: "the source's certificate could not be verified",
		Hint: "set sslrootcert to the file of the authority that signed it, and host to the name in the certificate"}
	errPassword = &Error{SQLState: "28P01", Message: "the source rejected the password",
		Hint: "ALTER USER MAPPING … OPTIONS (SET password '…')"}
	errAccess = &Error{SQLState: "28000", Message: "the source's pg_hba.conf or the role does not permit this connection",
		Hint: "add a line for this role and machine to pg_hba.conf (logical replication uses the lines of the database), and grant LOGIN"}
	errDatabase = &Error{SQLState: "3D000", Message: "the source has no such database",
		Hint: "check the option dbname"}
	errConnections = &Error{SQLState: "53300", Message: "the source has no free connection",
		Hint: "raise max_connections or max_wal_senders at the source, or the role's CONNECTION LIMIT"}
	errStarting = &Error{SQLState: "57P03", Message: "the source is starting up or shutting down",
		Hint: "the daemon tries again by itself"}

	errTruncated = &Error{SQLState: "40001", Message: "the table was truncated or rewritten after the position of the transaction",
		Hint: "run the transaction again"}

	errVersion = &Error{SQLState: "0A000", Message: "the source's version of PostgreSQL is too old to be mirrored",
		Hint: "upgrade the source to version 15.14, 16.10, 17.6 or later"}
	errMinor = &Error{SQLState: "0A000",
		Message: "this minor version of the source loses changes of a table that is added to a publication under an open transaction",
		Hint:    "upgrade the source to version 15.14, 16.10, 17.6 or later"}
	errStandby = &Error{SQLState: "0A000", Message: "the source is a standby",
		Hint: "set host to the primary, or target_session_attrs to read-write with a list of hosts"}
	errEncoding = &Error{SQLState: "0A000", Message: "the source's database has the encoding SQL_ASCII",
		Hint: "use a database with an encoding that PostgreSQL can convert to UTF8"}
	errWALLevel = &Error{SQLState: "55000", Message: "the source's wal_level is below logical",
		Hint: "set wal_level = logical at the source and restart it"}
	errReplication = &Error{SQLState: "42501", Message: "the role may not use replication at the source",
		Hint: "ALTER ROLE … REPLICATION at the source"}
	errNoSlot = &Error{SQLState: "53400", Message: "the source has no free replication slot",
		Hint: "raise max_replication_slots at the source and restart it, or drop a slot that is not used; each server needs one, and one more while tables load"}
	errSlotInUse = &Error{SQLState: "55006", Message: "the replication slot is in use",
		Hint: "another daemon or mapping uses the slot: give each server and mapping its own with the option slot"}
	errWaiting = &Error{SQLState: "55006", Message: "transactions of the source that were open before must end first",
		Hint: "end those that have been open for long: SELECT pid, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start"}
	errSlotForeign = &Error{SQLState: "55000", Message: "the replication slot is not one of this package",
		Hint: "give another name with the option slot"}
	errSlotLost = &Error{SQLState: "55000", Message: "the source has removed WAL that the slot needs",
		Hint: "the mirrors load again; raise max_slot_wal_keep_size at the source if this happens often"}
	errRetained = &Error{SQLState: "53400", Message: "the slot held back more WAL than max_retained_wal permits and was dropped",
		Hint: "the mirrors load again; raise the server's option max_retained_wal if the source has the disk space"}

	errNoPublication = &Error{SQLState: "42704", Message: "the publication does not exist and the role may not create it"}
	errNotPublished  = &Error{SQLState: "42501", Message: "the table is not in the publication and the role may not add it"}
	errPublish       = &Error{SQLState: "55000", Message: "the publication does not publish all operations"}
	errPublishedPart = &Error{SQLState: "55000", Message: "the publication has a row filter or a list of columns for the table"}
	errRepublished   = &Error{SQLState: "55000", Message: "the table's publication was changed",
		Hint: "the mirror loads again"}

	errNoTable = &Error{SQLState: "42P01", Message: "the source has no such table, or the role may not use its schema",
		Hint: "check the options schema_name and table_name, and GRANT USAGE ON SCHEMA"}
	errNoSchema = &Error{SQLState: "3F000", Message: "the source has no such schema",
		Hint: "names of schemas are case-sensitive when they are quoted"}
	errSelect = &Error{SQLState: "42501", Message: "the role may not read the table"}
	errRLS    = &Error{SQLState: "42501", Message: "row-level security limits what the role sees of the table",
		Hint: "use a role with BYPASSRLS, or read the table as its owner"}
	errRewritten = &Error{SQLState: "55000", Message: "the table was rewritten, truncated or altered while it was loaded",
		Hint: "the load begins again"}
	errLocked = &Error{SQLState: "55P03", Message: "another session holds or awaits an exclusive lock on a table that is to be loaded",
		Hint: "the load begins again"}
	errApply = &Error{SQLState: "58000", Message: "the mirrors could not apply a transaction",
		Hint: "the mirrors load again"}
	errMemory = &Error{SQLState: "53200", Message: "the mirrors' memory is used up",
		Hint: "raise the daemon's limit, or set mirror 'off' for tables that need no mirror"}
	errUnwanted = &Error{SQLState: "55000", Message: "the table is no longer wanted",
		Hint: "a query of its foreign table begins a new mirror"}
	errTogether = &Error{SQLState: "55000", Message: "another table that was loaded at the same time failed",
		Hint: "the load begins again without it"}
	errAltered = &Error{SQLState: "55000", Message: "the table was altered at the source",
		Hint: "the mirror loads again"}
	errStream = &Error{SQLState: "08P01", Message: "the source sent a message that is not valid",
		Hint: "the mirrors load again"}
	errLate = &Error{SQLState: "57014", Message: "the mirrors did not reach the source's position in time",
		Hint: "raise freshness_timeout, or set freshness to an interval"}
	errElsewhere = &Error{SQLState: "55000", Message: "the source is another server than before, or lost the end of its WAL",
		Hint: "the mirrors load again"}
)

// answers are the errors of a server that mean one of the refusals, the more special first.
var answers = []struct {
	state, text string
	error       *Error
}{
	{"28P01", "", errPassword},
	{"28000", "replication", errReplication},
	{"28000", "", errAccess},
	{"3D000", "", errDatabase},
	{"53300", "", errConnections},
	{"57P03", "", errStarting},
	{"57P01", "", errStarting},
	{"57P02", "", errStarting},
	{"42501", "replication", errReplication},
	{"42501", "REPLICATION", errReplication},
	{"42501", "start WAL sender", errReplication},
	{"42501", "row-level security", errRLS},
	{"53400", "replication slots are in use", errNoSlot},
	{"55000", "wal_level", errWALLevel},
	{"55000", "can no longer get changes from replication slot", errSlotLost},
	{"55000", "cannot read from logical replication slot", errSlotLost},
	{"58P01", "has already been removed", errSlotLost},
	{"55006", "replication slot", errSlotInUse},
	{"42704", "publication", errNoPublication},
	{"55P03", "", errLocked},
}
