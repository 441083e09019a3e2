package foreign

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

const small = "create table t (id int primary key, v text); insert into t select i, 'v' || i from generate_series(1, 100) i;"

// certify writes a key and a certificate for an address, which it signs itself, for the
// server's user.
func certify(t *testing.T, w *foreign.World, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(w.Address)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: certificate}, name + ".key": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		path := filepath.Join(w.Source.Data, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if env.Account.Switched {
			if err := os.Chown(path, env.Account.UID, env.Account.GID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Over the network: TLS with a verified certificate, and a password by SCRAM bound to the
// channel; each thing that is wrong is one clear error, and no password is shown anywhere.
func TestTLSAndPassword(t *testing.T) {
	servers := startFor(t, foreign.Options{Network: true, Source: harness.Settings{"password_encryption": "'scram-sha-256'"}})
	certify(t, servers, "server")
	certify(t, servers, "stranger")
	w := newWorld(t, servers, small+"create role able login replication password 'right-secret'; grant select on t to able; create publication gpujoin for table t")
	if err := servers.PrependHBA("hostssl all able 127.0.0.0/8 scram-sha-256\nhost all all 127.0.0.0/8 reject\n"); err != nil {
		t.Fatal(err)
	}
	w.source.exec("alter system set ssl = on")
	w.source.exec("select pg_reload_conf()")
	eventually(t, "the server uses TLS", func() bool { return w.source.one("show ssl") == "on" })
	// The role cannot make the publication: the owner has.
	options := func(change map[string]string) map[string]string {
		k := map[string]string{"host": servers.Address, "sslmode": "verify-full", "sslrootcert": filepath.Join(servers.Source.Data, "server.crt"), "channel_binding": "require"}
		for name, value := range change {
			k[name] = value
		}
		return k
	}
	for _, c := range []struct {
		name, password string
		change         map[string]string
		state, part    string
	}{
		{"verified", "right-secret", nil, "", ""},
		{"authority", "right-secret", map[string]string{"sslrootcert": filepath.Join(servers.Source.Data, "stranger.crt")}, "08001", "certificate"},
		{"wrong_password", "wrong-secret", nil, "28P01", "able"},
		{"unencrypted", "right-secret", map[string]string{"sslmode": "disable", "channel_binding": "prefer"}, "28000", "pg_hba.conf"},
	} {
		w.server(c.name, options(c.change), map[string]string{"user": "able", "password": c.password})
		w.local.exec("create foreign table " + c.name + ".t (id int, v text) server " + c.name + " options (schema_name 'public')")
		if c.state == "" {
			w.local.exec("select gpujoin.mirror('" + c.name + ".t', wait => true)")
			w.source.exec("update t set v = 'changed' where id = 5")
			if got := w.local.one("select string_agg(v, ',' order by id) from " + c.name + ".t where id between 4 and 6"); got != "v4,changed,v6" {
				t.Errorf("%s", got)
			}
			continue
		}
		w.local.fails(c.state, c.part, "select * from "+c.name+".t")
		w.local.fails(c.state, c.part, "select gpujoin.mirror('"+c.name+".t', wait => true)")
	}
	shown := strings.Join(append(w.local.query("select m.*::text from gpujoin.mirrors m").Rows, w.local.query("select status::text from gpujoin.daemon_status()").Rows...), "\n") +
		w.Daemon.Log() + w.Local.Server().Log()
	for _, secret := range []string{"right-secret", "wrong-secret"} {
		// The server's own log has the statement of a failed ALTER or CREATE only.
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// What a source lacks is one error, and its tables are read directly meanwhile.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings harness.Settings
		setup    string
		user     string
		state    string
		part     string // of the reason and its hint
	}{
		{"wal_level", harness.Settings{"wal_level": "replica"}, "", "postgres", "55000", "wal_level"},
		{"no slot", harness.Settings{"max_replication_slots": "1"}, "select pg_create_physical_replication_slot('taken')", "postgres", "53400", "max_replication_slots"},
		{"no replication", nil, "create role weak login; grant select on t to weak; create publication gpujoin for table t", "weak", "42501", "REPLICATION"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, startFor(t, foreign.Options{Source: c.settings}), small+c.setup)
			w.server("src", nil, map[string]string{"user": c.user})
			w.local.exec(foreign.ImportSQL("src"))
			w.local.fails(c.state, c.part, "select gpujoin.mirror('src.t', wait => true)")
			if got := w.local.one("select count(*) from src.t"); got != "100" {
				t.Errorf("%s rows", got)
			}
			p := w.local.plan("select * from src.t")
			if p.Direct != 1 || p.Mirrored != 0 {
				t.Errorf("%+v", p)
			}
			if reasons := strings.Join(w.local.query("select reason, hint from gpujoin.mirrors").Rows, "\n"); !strings.Contains(reasons, c.part) {
				t.Errorf("gpujoin.mirrors: %q", reasons)
			}
		})
	}
}

// What a table lacks is an error of gpujoin.mirror, which names it; once it is repaired, the next call
// does not wait for a pause to end.
func TestUnmirrorableTables(t *testing.T) {
	w := newWorld(t, shared, small+`create table keyless (a int); create view seen as select * from t; create table other (id int primary key);
		create role outsider login replication; grant select on t to outsider`)
	w.imports(nil)
	w.local.fails("0A000", "[0A000] table \"public\".\"keyless\" cannot be mirrored; detail: It has no primary key", "select gpujoin.mirror('keyless', wait => true)")
	w.local.fails("0A000", "detail: It is a view.; hint: Import its base tables instead.", "select gpujoin.mirror('seen', wait => true)")
	w.source.exec("alter table keyless add primary key (a); insert into keyless values (1)")
	w.mirror("keyless")
	w.same("select * from keyless")
	w.server("limited", nil, map[string]string{"user": "outsider"})
	w.local.exec("create foreign table limited.other (id int) server limited options (schema_name 'public')")
	w.local.fails("42501", "[42501] the role may not read the table", "select gpujoin.mirror('limited.other', wait => true)")
	w.source.exec("grant select on other to outsider")
	w.local.fails("42501", "hint: As the owner", "select gpujoin.mirror('limited.other', wait => true)")
	w.source.exec("alter publication gpujoin add table other")
	w.mirror("limited.other")
}

// A source that is not there is an error with a hint.
func TestUnreachable(t *testing.T) {
	w := newWorld(t, shared, small)
	w.server("gone", map[string]string{"host": "/nowhere"}, nil)
	w.local.exec("create foreign table gone.t (id int, v text) server gone options (schema_name 'public')")
	w.local.fails("08001", "hint: ", "select * from gone.t")
	w.local.fails("08001", "hint: ", "import foreign schema public from server gone into gone")
	// EXPLAIN alone needs no source.
	w.local.exec("explain select * from gone.t")
	w.server("src", map[string]string{"dbname": "none"}, nil)
	w.local.fails("3D000", "none", "import foreign schema public from server src into src")
	w.local.exec("alter server src options (set dbname '" + w.database + "')")
	w.local.fails("3F000", "absent", "import foreign schema absent from server src into src")
	w.local.exec(foreign.ImportSQL("src") + "; set search_path = src")
	w.same("select * from t")
}
