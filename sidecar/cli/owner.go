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

// loadAsOwner loads the configuration as the user that the daemon runs as.
func (c *command) loadAsOwner(flags *pflag.FlagSet) (*config.Config, error) {
	cfg, err := config.Load(flags, c.environ)
	if err != nil {
		return nil, err
	}
	became, err := becomeOwner(cfg.Socket)
	if err != nil || !became {
		return cfg, err
	}
	return config.Load(flags, c.environ) // that user may not be able to read the file
}

// becomeOwner gives root's privileges up for those of the user who owns the
// socket or, where there is none, its directory: the user that the daemon runs
// as. A check by root would find what root may do, and that user cannot. It
// returns whether it did; nothing changes for other users than root.
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
		return false, nil // the check of the socket says what is wrong with it
	}
	gid, groups := groupsOf(st.Uid, st.Gid)
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(st.Uid))); err != nil {
		return false, fmt.Errorf("could not become user %d, who owns the socket: %w", st.Uid, err)
	}
	return true, nil
}

// groupsOf returns the groups of a user as the system's files have them; other
// is the group of a user whom they do not have.
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
