package source

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Keywords are connection keywords of libpq. Printing and logging them shows where they
// lead, and no secret.
type Keywords map[string]string

// String returns host, port and database.
func (k Keywords) String() string {
	return fmt.Sprintf("host=%s port=%s dbname=%s", k["host"], k["port"], k["dbname"])
}

// GoString is String: %#v must not show a password.
func (k Keywords) GoString() string { return k.String() }

// LogValue is String.
func (k Keywords) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON writes String.
func (k Keywords) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, k.String()), nil }

// Options say how to connect to a source, and what to use there.
type Options struct {
	Keywords       Keywords
	Publication    string        // "": gpujoin
	Slot           string        // a permanent slot of this name; "": a temporary one
	Maker          string        // the comment on a publication that the session makes; "": none
	MaxRetainedWAL int64         // bytes that the slot may hold back at the source; 0: 4 GB
	Loaders        int           // connections that copy tables; 0: 4
	Queue          int           // bytes of changes that wait to be applied; 0: 64 MB
	Silence        time.Duration // after which a connection without messages is dead; 0: 30 s
}

// withDefaults returns the options with each zero replaced.
func (o Options) withDefaults() Options {
	set(&o.Publication, "gpujoin")
	set(&o.MaxRetainedWAL, 4<<30)
	set(&o.Loaders, 4)
	set(&o.Queue, 64<<20)
	set(&o.Silence, 30*time.Second)
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

var slotName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// check refuses options that no source could serve.
func (o Options) check() error {
	if o.Slot != "" && !slotName.MatchString(o.Slot) {
		return errValue.because("slot").advising("a slot's name has 1 to 63 lower-case letters, digits and underscores")
	}
	if len(o.Publication) > 63 || strings.ContainsRune(o.Publication, 0) {
		return errValue.because("publication").advising("a publication's name has at most 63 bytes")
	}
	if o.MaxRetainedWAL < 0 || o.Loaders < 0 || o.Queue < 0 || o.Silence < 0 {
		return errValue.because("a size or a time is negative").advising("use positive numbers")
	}
	_, err := o.Keywords.config()
	return err
}

// driverKeywords are those that pgx understands as libpq does, with the values that are
// possible if these are few.
var driverKeywords = map[string][]string{
	"host": nil, "port": nil, "dbname": nil, "user": nil, "password": nil, "passfile": nil,
	"sslcert": nil, "sslkey": nil, "sslpassword": nil, "sslrootcert": nil, "require_auth": nil, "connect_timeout": nil,
	"min_protocol_version": nil, "max_protocol_version": nil, "krbsrvname": nil,
	"sslmode":              {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
	"sslsni":               {"0", "1"},
	"sslcertmode":          {"disable", "allow", "require"},
	"sslnegotiation":       {"postgres", "direct"},
	"channel_binding":      {"disable", "prefer", "require"},
	"target_session_attrs": {"any", "read-write", "read-only", "primary", "standby", "prefer-standby"},
}

// ownKeywords are those that this package applies, or that change nothing here.
var ownKeywords = []string{"application_name", "fallback_application_name", "keepalives", "keepalives_idle",
	"keepalives_interval", "keepalives_count", "tcp_user_timeout", "client_encoding", "gssencmode", "gssdelegation"}

// numbers are the keywords whose values are whole numbers.
var numbers = []string{"connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}

// config makes the driver's configuration. The environment and the files of the user that
// runs the daemon have no part in it.
func (k Keywords) config() (*pgconn.Config, error) {
	if os.Getenv("PGSERVICE") != "" {
		return nil, errOption.because("PGSERVICE is set in the daemon's environment").advising("start the daemon without it")
	}
	// What the environment must not provide is set here.
	full := map[string]string{"host": "localhost", "port": "5432", "dbname": "", "user": "", "password": "", "passfile": "",
		"sslcert": "", "sslkey": "", "sslpassword": "", "sslrootcert": "", "sslmode": "prefer", "sslsni": "1", "sslcertmode": "allow",
		"sslnegotiation": "postgres", "channel_binding": "prefer", "target_session_attrs": "any", "require_auth": "",
		"connect_timeout": "10", "min_protocol_version": "3.0", "max_protocol_version": "3.0"}
	for _, key := range slices.Sorted(maps.Keys(k)) {
		value := k[key]
		allowed, known := driverKeywords[key]
		switch {
		case !known && !slices.Contains(ownKeywords, key):
			return nil, errOption.because("%s", key).advising("remove the option from the server and the user mapping")
		case strings.ContainsRune(value, 0), allowed != nil && !slices.Contains(allowed, value):
			return nil, errValue.because("%s", key).advising("possible values: %s", strings.Join(allowed, ", "))
		case slices.Contains(numbers, key):
			if n, err := strconv.Atoi(value); err != nil || n < 0 {
				return nil, errValue.because("%s", key).advising("the value is a whole number")
			}
		}
		if known {
			full[key] = value
		}
	}
	for _, needed := range []string{"user", "dbname"} {
		if full[needed] == "" {
			return nil, errValue.because("%s is missing", needed).advising("set dbname in the server's options and user in the user mapping's")
		}
	}
	var text strings.Builder
	for key, value := range full {
		fmt.Fprintf(&text, "%s='%s' ", key, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
	}
	c, err := pgconn.ParseConfig(text.String())
	if err != nil {
		// The driver's text repeats the connection string. Below it is an error of a file.
		if inner := errors.Unwrap(err); inner != nil {
			return nil, errValue.because("%v", inner).advising("check the options whose names begin with ssl")
		}
		return nil, errValue.because("host, port, a protocol version or require_auth").advising("check these options")
	}
	name := "gpujoin"
	for _, key := range []string{"fallback_application_name", "application_name"} {
		if k[key] != "" {
			name = k[key]
		}
	}
	c.RuntimeParams = sessionSettings(name)
	k.keepAlive(c)
	return c, nil
}

// sessionSettings are the settings of every connection, stronger than those of the role
// and the database. An idle or long connection must not end by itself.
func sessionSettings(application string) map[string]string {
	return map[string]string{
		"application_name":                    application,
		"client_encoding":                     "UTF8",
		"search_path":                         "",
		"row_security":                        "off", // else a policy would hide rows without an error
		"statement_timeout":                   "0",
		"lock_timeout":                        "0",
		"idle_in_transaction_session_timeout": "0",
		"idle_session_timeout":                "0",
		"default_transaction_isolation":       "read committed",
		"default_transaction_deferrable":      "off",
		"standard_conforming_strings":         "on",
	}
}

// keepAlive applies the keywords of TCP keepalives.
func (k Keywords) keepAlive(c *pgconn.Config) {
	seconds := func(key string) time.Duration {
		n, _ := strconv.Atoi(k[key]) // checked by config
		return time.Duration(n) * time.Second
	}
	alive := net.KeepAliveConfig{Enable: k["keepalives"] != "0",
		Idle: seconds("keepalives_idle"), Interval: seconds("keepalives_interval")}
	alive.Count, _ = strconv.Atoi(k["keepalives_count"])
	dialer := &net.Dialer{Timeout: c.ConnectTimeout, KeepAliveConfig: alive}
	if !alive.Enable {
		dialer.KeepAlive = -1
	}
	c.DialFunc = dialer.DialContext
}
