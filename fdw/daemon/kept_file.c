/*
 * daemon/kept_file.c - how much of a table's columns the daemon keeps, for the planner.
 *
 * The daemon's file says it (shm/keptfile.h).  A session reads a file once, and looks
 * for another one only when the daemon's load announces it.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/sysattr.h"
#include "access/xlog.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "daemon/status.h"
#include "options.h"

static uint64 read_version;		/* gj_load.kept of what was read; 0: nothing */
static int	ncolumns;
static struct gj_kept_column *columns;

static bool
read_all(int fd, void *to, Size n)
{
	return read(fd, to, n) == (ssize_t) n;
}

/* Orders columns by table and number. */
static int
compare_columns(const void *a, const void *b)
{
	const struct gj_kept_column *left = a;
	const struct gj_kept_column *right = b;

	return left->file != right->file ? (left->file < right->file ? -1 : 1) :
		left->attnum - right->attnum;
}

/* Reads the columns of the file, which has the given length. */
static void
read_columns(int fd, off_t length)
{
	struct gj_kept_header header;
	Size		size;

	if (!read_all(fd, &header, sizeof(header)) || header.magic != GJ_KEPT_MAGIC ||
		header.version != GJ_LAYOUT_VERSION || header.columns > GJ_KEPT_COLUMNS)
		return;
	size = header.columns * sizeof(struct gj_kept_column);
	if (length != (off_t) (sizeof(header) + size))
		return;
	columns = MemoryContextAlloc(TopMemoryContext, Max(size, 1));
	if (!read_all(fd, columns, size))
		return;
	ncolumns = header.columns;
	qsort(columns, ncolumns, sizeof(struct gj_kept_column), compare_columns);
}

/* If the file cannot be read, nothing is known until there is another one. */
static void
read_file(uint64 version)
{
	struct stat st;
	int			fd;

	read_version = version;
	ncolumns = 0;
	if (columns != NULL)
		pfree(columns);
	columns = NULL;
	if (version == 0 || gj_socket == NULL)
		return;
	fd = gj_open_beside(gj_socket, "kept");
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0)
		read_columns(fd, st.st_size);
	close(fd);
}

/*
 * What the file says of a column of the table in the form with the largest share.  NULL:
 * nothing.
 */
static const struct gj_kept_column *
find_column(const GjTableFile *file, AttrNumber attnum)
{
	uint64		cluster = GetSystemIdentifier();
	struct gj_kept_column wanted = {.file = file->number, .attnum = attnum};
	const struct gj_kept_column *found = NULL;
	int			first = 0;

	/* the first one that is not before it */
	for (int end = ncolumns; first < end;)
	{
		int			middle = first + (end - first) / 2;

		if (compare_columns(&columns[middle], &wanted) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	for (int i = first; i < ncolumns && compare_columns(&columns[i], &wanted) == 0; i++)
	{
		const struct gj_kept_column *c = &columns[i];

		if (c->tablespace == file->tablespace &&
			c->database == file->database && c->server_start == PgStartTime &&
			c->system_identifier == cluster && (found == NULL || found->share < c->share))
			found = c;
	}
	return found;
}

static double
share_of(const GjTableFile *file, AttrNumber attnum)
{
	const struct gj_kept_column *column = find_column(file, attnum);

	return column != NULL ? (double) column->share / GJ_WHOLE_TABLE : 0;
}

/* Reads the newest file, unless this session has. */
static void
know(const struct gj_load *load)
{
	if (load->kept != read_version)
		read_file(load->kept);
}

double
gj_kept_share(const struct gj_load *load, const GjTableFile *file, const Bitmapset *attnums)
{
	double		least = 1;
	int			member = -1;

	know(load);
	if (ncolumns == 0)
		return 0;
	while (least > 0 && (member = bms_next_member(attnums, member)) >= 0)
		least = Min(least, share_of(file, member + FirstLowInvalidHeapAttributeNumber));
	return bms_is_empty(attnums) ? 0 : least;
}

bool
gj_kept_refused(const struct gj_load *load, const GjTableFile *file)
{
	know(load);
	return find_column(file, 0) != NULL;
}
