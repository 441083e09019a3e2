package harness

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Prefix is a private installation of PostgreSQL with the extension. Its
// directories have the system's layout, because the server looks for its files
// relative to its own program. Programs are copies, since a link would lead
// back to the system's; everything else is linked. Nothing of the system is
// changed.
type Prefix struct {
	// SystemBin is the directory of the clients: psql, pg_isready.
	SystemBin string
	Bin       string // postgres, initdb
	Lib       string // PostgreSQL's $libdir
	Share     string
	// Regress and Isolation are pg_regress's programs.
	Regress, Isolation string
	Version            string
}

// PGConfig returns the path of pg_config; the variable PG_CONFIG selects
// another installation.
func PGConfig() string {
	if p := os.Getenv("PG_CONFIG"); p != "" {
		return p
	}
	if debian := "/usr/lib/postgresql/15/bin/pg_config"; fileExists(debian) {
		return debian
	}
	return "pg_config"
}

// Server is an installation of PostgreSQL and a build of the extension for it.
type Server struct {
	PGConfig string
	Build    string // directory of the extension's built files; "": the server has no extension
	Private  string // name of the directory, below the work directory, with the Prefix
}

// Selected returns the server that PG_CONFIG selects, for which make build builds.
func Selected(root string) Server {
	return Server{PGConfig: PGConfig(), Build: filepath.Join(root, "fdw"), Private: "pg"}
}

// Make runs the extension's Makefile.
func (s Server) Make(root string, args ...string) error {
	cmd := exec.Command("make", append([]string{"-s", "--no-print-directory", "-C", s.Build,
		"-f", filepath.Join(root, "fdw", "Makefile"), "PG_CONFIG=" + s.PGConfig}, args...)...)
	// Clears the job slots and flags of a make that started this program.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make %s in %s: %w\n%s", strings.Join(args, " "), s.Build, err, out)
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s Server) path(option string) (string, error) {
	out, err := exec.Command(s.PGConfig, option).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", s.PGConfig, option, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// preparePrefix makes or updates the private installation below work.
func preparePrefix(account Account, root, work string, server Server) (*Prefix, error) {
	var system [4]string
	for i, option := range []string{"--bindir", "--pkglibdir", "--sharedir", "--pgxs"} {
		p, err := server.path(option)
		if err != nil {
			return nil, err
		}
		system[i] = p
	}
	dest := filepath.Join(work, server.Private)
	p := &Prefix{
		SystemBin: system[0],
		Bin:       filepath.Join(dest, system[0]),
		Lib:       filepath.Join(dest, system[1]),
		Share:     filepath.Join(dest, system[2]),
	}
	pgxsTests := filepath.Join(filepath.Dir(filepath.Dir(system[3])), "test")
	p.Regress = filepath.Join(pgxsTests, "regress", "pg_regress")
	p.Isolation = filepath.Join(pgxsTests, "isolation", "pg_isolation_regress")

	release, err := lock(filepath.Join(work, "pg.lock"))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := p.mirrorSystem(account, dest, system[0], system[1], system[2]); err != nil {
		return nil, fmt.Errorf("private installation in %s: %w", dest, err)
	}
	if server.Build != "" {
		if err := installExtension(root, dest, server); err != nil {
			return nil, err
		}
	}
	out, err := exec.Command(filepath.Join(p.Bin, "postgres"), "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("private postgres: %w", err)
	}
	p.Version = strings.TrimSpace(string(out))
	return p, nil
}

// mirrorSystem copies and links the system's installation, once: a stamp has
// the server's checksum.
func (p *Prefix) mirrorSystem(account Account, dest, bin, lib, share string) error {
	server, err := os.ReadFile(filepath.Join(bin, "postgres"))
	if err != nil {
		return err
	}
	sum := fmt.Sprintf("%x\n", sha256.Sum256(server))
	stamp := filepath.Join(dest, "server.sha256")
	if old, err := os.ReadFile(stamp); err == nil && string(old) == sum {
		return nil
	}
	if err := os.RemoveAll(dest); err != nil {
		return err
	}
	for _, dir := range []string{p.Bin, p.Lib, filepath.Join(p.Share, "extension")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"postgres", "initdb"} {
		if err := copyFile(filepath.Join(bin, name), filepath.Join(p.Bin, name)); err != nil {
			return err
		}
		if err := placeLibraries(account, filepath.Join(bin, name), p.Bin); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{
		lib:                               p.Lib,
		share:                             p.Share,
		filepath.Join(share, "extension"): filepath.Join(p.Share, "extension"),
	} {
		if err := placeEntries(from, to, placeFor(account, from)); err != nil {
			return err
		}
	}
	return os.WriteFile(stamp, []byte(sum), 0o644)
}

// placeFor returns what places the entries of a directory: links, or copies if
// the account cannot enter the directory, as below the home of root.
func placeFor(account Account, dir string) func(from, to string) error {
	if account.canEnter(dir) {
		return os.Symlink
	}
	return copyTree
}

// placeLibraries places the libraries that a program finds relative to its own
// directory where its copy in the directory bin looks for them.
func placeLibraries(account Account, program, bin string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	defer file.Close()
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		paths, err := file.DynString(tag)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		for _, path := range strings.Split(strings.Join(paths, ":"), ":") {
			relative, found := strings.CutPrefix(path, "$ORIGIN/")
			from := filepath.Join(filepath.Dir(program), relative)
			if !found || !fileExists(from) {
				continue
			}
			to := filepath.Join(bin, relative)
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			if err := placeEntries(from, to, placeFor(account, from)); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeEntries links or copies the entries of from into to, except existing ones
// and files of a system-wide installation of this extension.
func placeEntries(from, to string, place func(from, to string) error) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dest := filepath.Join(to, e.Name())
		if strings.HasPrefix(e.Name(), "gpujoin") || fileExists(dest) {
			continue
		}
		if err := place(filepath.Join(from, e.Name()), dest); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a file, or a directory that does not exist yet.
func copyTree(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	return copyFile(from, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// installExtension runs the extension's install target if the built files
// differ from the installed ones.
func installExtension(root, dest string, server Server) error {
	sum, err := extensionSum(root, server.Build)
	if err != nil {
		return err
	}
	stamp := filepath.Join(dest, "extension.sha256")
	if old, err := os.ReadFile(stamp); err == nil && string(old) == sum {
		return nil
	}
	if err := server.Make(root, "install", "DESTDIR="+dest, "with_llvm=no"); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(sum), 0o644)
}

// extensionSum returns a checksum of the library, the control file and the scripts.
func extensionSum(root, build string) (string, error) {
	var files []string
	for _, pattern := range []string{
		filepath.Join(build, "*.so"), filepath.Join(root, "fdw", "*.control"), filepath.Join(root, "sql", "*.sql"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	if len(files) == 0 || !strings.Contains(strings.Join(files, " "), "gpujoin.so") {
		return "", errors.New("the extension is not built; run make build")
	}
	h := sha256.New()
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
	}
	return fmt.Sprintf("%x\n", h.Sum(nil)), nil
}
