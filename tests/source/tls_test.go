package source

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

	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// address is that of a server which listens on the network: the loopback's, and no other
// server's.
const address = "127.77.1.2"

// certify writes a key and a certificate for an address, which it signs itself.
func certify(t *testing.T, dir, name string, owner harness.Account) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(address)}, DNSNames: []string{"db1"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".crt": {Type: "CERTIFICATE", Bytes: certificate},
		name + ".key": {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if owner.Switched {
			if err := os.Chown(path, owner.UID, owner.GID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A mirror over the network: TLS with a verified certificate, and a password by SCRAM bound
// to the channel.
func TestTLSAndPassword(t *testing.T) {
	c := newCluster(t, harness.Settings{"listen_addresses": "'" + address + "'", "password_encryption": "'scram-sha-256'"})
	certify(t, c.Data, "server", env.Account)
	certify(t, c.Data, "stranger", env.Account)
	w := newWorld(t, c, roles)
	w.exec("alter role able password 'right'")
	w.prependHBA("hostssl all able 127.0.0.0/8 scram-sha-256\nhost all all 0.0.0.0/0 reject\n")
	w.exec("alter system set ssl = on")
	w.exec("select pg_reload_conf()")
	eventually(t, "the server uses TLS", func() bool { return w.one("show ssl") == "on" })
	keywords := func(root string) source.Keywords {
		k := w.keywords()
		k["host"], k["user"], k["password"] = address, "able", "right"
		k["sslmode"], k["sslrootcert"], k["channel_binding"] = "verify-full", filepath.Join(c.Data, root), "require"
		return k
	}
	w.open(source.Options{Keywords: keywords("server.crt")})
	w.mirror("t")
	w.exec("update t set v = 'changed'")
	w.same("t")
	if n := w.one("select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where ssl and usename = 'able'"); n == "0" {
		t.Error("no connection is encrypted")
	}
	for _, refused := range []struct {
		what   string
		change func(source.Keywords)
		state  string
		part   string
	}{
		{"another authority", func(k source.Keywords) { k["sslrootcert"] = filepath.Join(c.Data, "stranger.crt") }, "08001", "certificate"},
		{"a wrong password", func(k source.Keywords) { k["password"] = "wrong-secret" }, "28P01", "able"},
		{"no TLS", func(k source.Keywords) { k["sslmode"], k["channel_binding"] = "disable", "prefer" }, "28000", "pg_hba.conf"},
	} {
		k := keywords("server.crt")
		refused.change(k)
		s := w.open(source.Options{Keywords: k})
		s.Mirror(names("t")...)
		eventually(t, refused.what, func() bool { return s.Status().Reason != nil })
		text := s.Status().Reason.Error()
		if !strings.Contains(text, "["+refused.state+"]") || !strings.Contains(text, refused.part) || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", refused.what, text)
		}
		s.Close()
	}
}
