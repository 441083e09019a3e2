package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"gpujoin/sidecar/config"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// loadAsOwner loads the configuration with the privileges of the daemon's user.
func (c *command) loadAsOwner(flags *pflag.FlagSet) (*config.Config, error) {
	cfg, err := config.Load(flags, c.environ)
	if err != nil {
		return nil, err
	}
	became, err := becomeOwner(cfg.Socket)
	if err != nil || !became {
		return cfg, err
	}
	return config.Load(flags, c.environ) // the daemon's user may not be able to read the file
}

// becomeOwner drops root's privileges for those of the user that the daemon
// runs as: the owner of the socket or, if there is no socket, of its directory.
// Checks that run as root would miss the permissions which that user lacks. It
// reports whether it switched users; for a caller other than root it does
// nothing.
func becomeOwner(socket string) (bool, error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	var st unix.Stat_t
	err := unix.Lstat(socket, &st)
	if errors.Is(err, fs.ErrNotExist) {
		err = unix.Stat(filepath.Dir(socket), &st)
	}
	if err != nil || st.Uid == 0 {
		return false, nil // the check of the socket reports the reason
	}
	gid, groups := groupsOf(st.Uid, st.Gid)
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(st.Uid))); err != nil {
		return false, fmt.Errorf("could not become user %d, who owns the socket: %w", st.Uid, err)
	}
	return true, nil
}

// groupsOf returns the user's primary and supplementary groups from the
// system's user database; gid is other if the database does not list the user.
func groupsOf(uid, other uint32) (gid int, groups []int) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return int(other), []int{int(other)}
	}
	if gid, err = strconv.Atoi(u.Gid); err != nil {
		gid = int(other)
	}
	groups = []int{gid}
	names, err := u.GroupIds()
	if err != nil {
		return gid, groups
	}
	for _, name := range names {
		if g, err := strconv.Atoi(name); err == nil && g != gid {
			groups = append(groups, g)
		}
	}
	return gid, groups
}
