package foreign

import (
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

const secretsSchema = `create table secrets (id int primary key, owner text not null, secret text not null);
insert into secrets select i, (array['ann', 'bob'])[1 + i % 2], 'secret ' || i from generate_series(1, 2000) i;
create role low login replication; create table lists (id int primary key); insert into lists select generate_series(1, 2000); grant select on lists to low`

// newSecrets makes the foreign tables secrets and lists, mirrored for the superuser, and local roles:
// ann may read two columns, bob has no user mapping, and carol has one of a remote role without
// privileges.
func newSecrets(t *testing.T) (w *world, role func(string) string) {
	w = newWorld(t, shared, "")
	role = func(name string) string { return name + "_" + w.database }
	w.source.exec(strings.ReplaceAll(secretsSchema, "low", role("low")))
	w.imports(nil, "secrets", "lists")
	for _, name := range []string{"ann", "bob", "carol"} {
		w.local.exec(fmt.Sprintf("create role %[1]s login; grant usage on schema src, public to %[1]s; grant create on schema public to %[1]s; alter role %[1]s set search_path = src, public", role(name)))
	}
	w.local.exec(fmt.Sprintf(`grant select (id, owner) on secrets to %s; grant select on secrets, lists to %s, %s; grant select on lists to %[1]s;
		create user mapping for %[1]s server src options (user 'postgres', password_required 'false');
		create user mapping for %[3]s server src options (user '%[4]s', password_required 'false');
		create function public.leak(text) returns boolean language plpgsql cost 0.0000001 as $$ begin raise notice 'seen: %%', $1; return true; end $$`,
		role("ann"), role("bob"), role("carol"), role("low")))
	return w, role
}

// forced runs something in the planner's own mode and in the forced one.
func forced(s *session, f func()) {
	s.t.Helper()
	for _, mode := range []string{"off", "on"} {
		s.exec("set gpujoin.debug_force = " + mode)
		f()
	}
}

// The privileges of columns are those of the foreign table.
func TestColumnPrivileges(t *testing.T) {
	w, role := newSecrets(t)
	ann := w.connectAs(w.Local, role("ann"))
	ann.exec("select * from lists limit 0")
	forced(ann, func() {
		for _, sql := range []string{
			"select id, owner from secrets", "select count(*) from secrets", "select s.id, l.id from secrets s join lists l using (id) where s.owner = 'ann'",
			"select owner, count(*) from secrets join lists using (id) group by owner",
		} {
			if d := harness.SameRows(w.source.query(sql), ann.query(sql)); d != "" {
				t.Errorf("%s: %s", sql, d)
			}
		}
		for _, sql := range []string{
			"select secret from secrets", "select * from secrets", "select secrets from secrets", "select id from secrets where secret = 'secret 7'",
			"select count(secret) from secrets", "select l.id from secrets s join lists l on l.id = length(s.secret)", "select gpujoin.check_mirror('secrets')",
			"select id from secrets order by secret",
		} {
			ann.fails("42501", "permission denied", sql)
		}
		ann.fails("42501", "must be owner", "select gpujoin.mirror('secrets')")
		ann.fails("42501", "must be owner", "select gpujoin.unmirror('secrets')")
	})
}

// Who has no user mapping reads nothing but through a view of somebody who has one; and who has that of
// another remote role gets what this one may see, not what is mirrored for others.
func TestMappings(t *testing.T) {
	w, role := newSecrets(t)
	bob, carol := w.connectAs(w.Local, role("bob")), w.connectAs(w.Local, role("carol"))
	w.local.exec(fmt.Sprintf(`create view public.open as select id, secret from secrets where owner = 'bob'; create view public.asker with (security_invoker = true) as select * from secrets;
		grant select on public.open, public.asker to %s, %s;
		create function public.elevated() returns bigint language sql security definer set search_path = src as 'select count(*) from secrets s join lists using (id)'`, role("bob"), role("carol")))
	w.local.exec("grant execute on function public.elevated() to public")
	const shown = "select id, secret from secrets where owner = 'bob'"
	forced(bob, func() {
		bob.fails("42704", "user mapping not found", "select id from secrets")
		bob.fails("42704", "user mapping not found", "select count(*) from secrets join lists using (id)")
		if d := harness.SameRows(w.source.query(shown), bob.query("select * from open")); d != "" {
			t.Error(d)
		}
		bob.fails("42704", "user mapping not found", "select o.id from open o join lists using (id)")
		if got := bob.one("select elevated()"); got != "2000" {
			t.Errorf("elevated: %s", got)
		}
	})
	forced(carol, func() {
		carol.fails("42501", "permission denied", "select id from secrets")
		if got := carol.one("select count(*) from lists"); got != "2000" {
			t.Errorf("lists: %s", got)
		}
		carol.fails("42501", "permission denied", "select count(*) from secrets join lists using (id)")
		// One table is read as the view's owner, the other one as its user.
		if d := harness.SameRows(w.source.query("select s.id, s.secret from secrets s join lists using (id) where owner = 'bob'"), carol.query("select o.id, o.secret from open o join lists using (id)")); d != "" {
			t.Error(d)
		}
	})
	// The version from which views have security_invoker.
	carol.fails("42501", "permission denied", "select id from asker")

	// A prepared plan is executed with the mapping of who executes it.
	w.local.exec("prepare p as select count(*) from src.secrets join src.lists using (id); prepare q as select count(*) from src.secrets")
	for range 7 {
		for _, name := range []string{"p", "q"} {
			w.local.exec("reset role")
			if got := w.local.one("execute " + name); got != "2000" {
				t.Fatalf("%s rows", got)
			}
			w.local.exec("set role " + role("carol"))
			w.local.fails("42501", "permission denied", "execute "+name)
			w.local.exec("set role " + role("bob"))
			w.local.fails("42704", "user mapping not found", "execute "+name)
		}
	}
	w.local.exec("reset role")
}

// leaked returns what a function in a condition has seen in a query, and the rows.
func leaked(s *session, sql string) (seen []string, r *harness.Result) {
	s.t.Helper()
	s.Notices()
	r = s.query(sql)
	for _, n := range s.Notices() {
		if text, ok := strings.CutPrefix(n, "NOTICE: seen: "); ok {
			seen = append(seen, text)
		}
	}
	return seen, r
}

// Conditions of users see only the rows of a view with a security barrier, and of a policy.
func TestBarriers(t *testing.T) {
	w, role := newSecrets(t)
	w.local.exec(fmt.Sprintf(`create view public.barred with (security_barrier) as select * from secrets where owner = 'ann' and length(owner) = 3;
		create table public.parts (id int not null, owner text not null, secret text not null) partition by range (id);
		create foreign table public.parts1 partition of public.parts for values from (1) to (1000000) server src options (schema_name 'public', table_name 'secrets');
		alter table public.parts enable row level security;
		create policy own on public.parts using (owner = split_part(current_user, '_', 1));
		grant select on public.barred, public.parts to %s; grant execute on function public.leak(text) to public`, role("ann")))
	bobs := map[string]bool{}
	for _, text := range w.source.query("select secret from secrets where owner = 'bob'").Rows {
		bobs[text] = true
	}
	ann := w.connectAs(w.Local, role("ann"))
	forced(ann, func() {
		for _, table := range []string{"barred", "parts"} {
			for _, sql := range []string{
				"select id, secret from %s where leak(secret)", "select t.id, t.secret from %s t join lists l using (id) where leak(t.secret)",
				"select t.id, t.secret from %s t join lists l on l.id = t.id and leak(t.secret || repeat(' ', l.id - l.id))", "select max(id), max(secret) from %s where leak(secret)",
				"select t.id, t.secret from %s t where leak(t.secret) and t.id in (select id from lists)",
			} {
				seen, r := leaked(ann, fmt.Sprintf(sql, table))
				if len(r.Rows) != 1000 && len(r.Rows) != 1 || len(seen) != 1000 {
					t.Errorf(sql+": %d rows, %d seen", table, len(r.Rows), len(seen))
				}
				for _, text := range append(seen, r.Rows...) {
					if bobs[strings.TrimSpace(text[strings.LastIndex(text, "secret"):])] {
						t.Fatalf(sql+": %q is bob's", table, text)
					}
				}
			}
			// No error of a condition tells of a row that is not seen: 5 is bob's.
			for _, sql := range []string{
				"select count(*) from %s where 1 / (id - 5) > -2", "select id from %s where 1 / (id - 5) > -2", "select count(*) from %s join lists using (id) where 1 / (id - 5) > -2",
			} {
				ann.query(fmt.Sprintf(sql, table))
			}
		}
	})
	// PostgreSQL has no policies of foreign tables themselves: nobody believes that there are.
	w.local.fails("42809", "", "alter table secrets enable row level security")
	w.local.fails("42809", "", "create policy own on secrets using (owner = 'ann')")
}
