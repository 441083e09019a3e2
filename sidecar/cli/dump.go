package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"gpujoin/shm"
	"gpujoin/sidecar"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func (c *command) dump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print an extent, a status file or a recorded trace as text",
		Long: `Print an extent, a status file or a recorded trace as text.

FILE may be a copy of an extent, /proc/PID/fd/N of the daemon, "<socket>.status",
or a file that serve --trace has recorded.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: dump takes one file", errUsage)
			}
			return nil
		},
	}
	rows := cmd.Flags().Int("rows", 10, "rows of a batch to print")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		w := bufio.NewWriter(c.out)
		err := dumpFile(w, args[0], *rows)
		return errors.Join(err, w.Flush())
	}
	return cmd
}

// dumpFile detects the type of the file from its first bytes and prints it.
func dumpFile(w io.Writer, path string, rows int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if string(head) == shm.TraceMagic {
		return sidecar.DumpTrace(w, bufio.NewReader(f))
	}
	if !st.Mode().IsRegular() || st.Size() > shm.ExtentMaxSize {
		return fmt.Errorf("%s: not a file of at most %d bytes", path, shm.ExtentMaxSize)
	}
	// Read a private copy: the contents cannot change while they are printed,
	// and a file that shrinks is reported as an error.
	data := make([]byte, st.Size())
	n, err := unix.Pread(int(f.Fd()), data, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := shm.Dump(w, data[:n:n], rows); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
