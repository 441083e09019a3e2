package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Port is part of the socket's name only; the server does not listen on the network.
const Port = 5432

// Cluster is a private PostgreSQL server.
type Cluster struct {
	Env  *Env
	Dir  string // contains all files of the cluster
	Data string
	Sock string // directory of the server's and the daemon's sockets

	server *Process
	keep   bool
}

// Settings are settings for postgresql.conf.
type Settings map[string]string

// base returns the settings of every private cluster. They give up durability,
// which is not tested.
func (c *Cluster) base() Settings {
	s := Settings{
		"listen_addresses":          "''",
		"unix_socket_directories":   quote(c.Sock),
		"fsync":                     "off",
		"synchronous_commit":        "off",
		"full_page_writes":          "off",
		"autovacuum":                "off",
		"max_wal_size":              "8GB",
		"timezone":                  "'UTC'",
		"log_timezone":              "'UTC'",
		"log_line_prefix":           "'%m [%p] '",
		"session_preload_libraries": "'gpujoin'",
		"gpujoin.socket":            quote(c.DaemonSocket()),
	}
	// Containers often have a small /dev/shm, which parallel hash joins would overflow.
	var fs syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &fs) != nil || fs.Blocks*uint64(fs.Bsize) < 1<<30 {
		s["dynamic_shared_memory_type"] = "mmap"
	}
	return s
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// DaemonSocket returns the socket to which this cluster's sessions connect.
func (c *Cluster) DaemonSocket() string { return filepath.Join(c.Sock, "gpujoind") }

// NewCluster makes and starts a cluster; settings override the defaults. With a
// name, its files are kept for a later NewCluster of that name; without one
// Stop removes them.
func (e *Env) NewCluster(name string, settings Settings) (*Cluster, error) {
	c := &Cluster{Env: e, keep: name != ""}
	if c.keep {
		c.Dir = filepath.Join(e.Work, name)
		if err := e.Account.Mkdir(c.Dir); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	} else {
		dir, err := os.MkdirTemp(e.Work, "c")
		if err != nil {
			return nil, err
		}
		if err := os.Chown(dir, e.Account.UID, e.Account.GID); err != nil {
			return nil, err
		}
		c.Dir = dir
	}
	c.Data = filepath.Join(c.Dir, "data")
	c.Sock = filepath.Join(c.Dir, "s")
	if err := c.create(settings); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *Cluster) create(settings Settings) error {
	if err := c.Env.Account.Mkdir(c.Sock); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if !fileExists(filepath.Join(c.Data, "PG_VERSION")) {
		cmd := c.Env.Account.Command(c.Dir, filepath.Join(c.Env.Prefix.Bin, "initdb"),
			"-D", c.Data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("initdb: %w\n%s", err, out.String())
		}
	}
	all := c.base()
	maps.Copy(all, settings)
	var conf strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&conf, "%s = %s\n", key, all[key])
	}
	path := filepath.Join(c.Data, "postgresql.conf")
	return os.WriteFile(path, []byte(conf.String()), 0o644)
}

// Start starts the server and waits until it accepts connections.
func (c *Cluster) Start() error {
	cmd := c.Env.Account.Command(c.Dir, filepath.Join(c.Env.Prefix.Bin, "postgres"),
		"-D", c.Data, "-p", fmt.Sprint(Port))
	var err error
	// SIGQUIT makes the server end its own children at once.
	c.server, err = startProcess(cmd, "postgres", filepath.Join(c.Dir, "server.log"), syscall.SIGQUIT)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		s, err := c.Connect(ctx)
		if err == nil {
			return s.Close()
		}
		if c.server.Exited() || ctx.Err() != nil {
			_ = c.server.Stop(10*time.Second, syscall.SIGQUIT) // only the error of the start is reported
			return fmt.Errorf("the server does not start: %w; its log ends:\n%s", err, c.server.LogTail(20))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Server returns the postmaster.
func (c *Cluster) Server() *Process { return c.server }

// Stop stops the server and removes the cluster unless it has a name.
func (c *Cluster) Stop() error {
	err := c.server.Stop(30*time.Second, syscall.SIGINT, syscall.SIGQUIT)
	return errors.Join(err, c.remove())
}

func (c *Cluster) remove() error {
	if c.keep {
		return nil
	}
	return os.RemoveAll(c.Dir)
}
