/*
 * daemon/hung.c - why does the daemon not answer?
 *
 * A daemon that gets too little processor time answers late, and is worth
 * waiting for.  A stopped or stuck daemon is not.  Two sources tell these
 * cases apart.
 *
 * The status file: a daemon thread, running at the highest priority it can
 * get, passes through the daemon's locks and then records a heartbeat, once
 * every GJ_BEAT_MS.  Late heartbeats or a small share of the processor time
 * mean that the daemon is starved.  Punctual heartbeats and a good share mean
 * that the thread that should answer had its chance: the daemon is stuck.
 *
 * /proc: only it shows that the process is stopped.  If there were no
 * heartbeats at all, a thread that is ready to run means that they are late.
 * If all threads sleep, no heartbeat will come.  From another pid namespace
 * the process is not visible, so missing heartbeats are given more time.
 *
 * The sources are trusted only for lengthening or shortening a wait, and
 * GJ_MAX_EXTENSIONS bounds the waits (daemon/wait.c).
 */
#include "daemon/connection.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "storage/fd.h"

#include "daemon/status.h"
#include "job/job.h"
#include "util.h"

/*
 * Share of the requested processor time, in thousandths, from which on a
 * silent daemon counts as stuck.
 */
#define GOOD_SHARE		800

/* How long heartbeats must be missing if the process is not visible. */
#define BLIND_MS		(5 * GJ_LOOK_INTERVAL_MS)

/* State letter of a process or thread, as in ps.  0: not visible. */
static char
state_of(const char *path)
{
	char		text[128];
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		n;
	char	   *end;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';

	/* "pid (name) state ...": the name may contain anything */
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : 0;
}

/* Is a thread of the process ready to run, or in the middle of disk I/O? */
static bool
wants_processor(pid_t pid)
{
	char		path[MAXPGPATH];
	DIR		   *dir;
	struct dirent *entry;
	bool		wants = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
	dir = opendir(path);
	if (dir == NULL)
		return false;
	while (!wants && (entry = readdir(dir)) != NULL)
	{
		char		state;

		if (!isdigit((unsigned char) entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int) pid, entry->d_name);
		state = state_of(path);
		wants = state == 'R' || state == 'D';
	}
	closedir(dir);
	return wants;
}

/* Takes a look.  *state: of the process, as from state_of(). */
static GjLook
look_at(const char *socket, pid_t pid, char *state, struct gj_load *load)
{
	GjLook		now = {.at_us = gj_now_us()};
	char		path[64];

	*state = 0;
	if (pid > 0)
	{
		snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
		*state = state_of(path);
	}
	now.stopped = *state == 'T' || *state == 't';
	if (gj_daemon_load(socket, load))
		now.beats = load->beats;
	return now;
}

GjHung
gj_hung(const char *socket, pid_t pid, GjLook *before)
{
	char		state;
	struct gj_load load;
	GjLook		now = look_at(socket, pid, &state, &load);
	uint64		elapsed_ms = (now.at_us - before->at_us) / 1000;
	uint64		beats;

	if (now.stopped)
		return GJ_HUNG_STOPPED;
	if (before->at_us == 0 || elapsed_ms < GJ_LOOK_INTERVAL_MS)
	{
		if (before->at_us == 0)
			*before = now;
		return GJ_HUNG_UNKNOWN;
	}
	/* a restarted daemon counts from zero again */
	beats = now.beats >= before->beats ? now.beats - before->beats : now.beats;
	if (beats == 0 && state == 0 && now.beats != 0 && elapsed_ms < BLIND_MS)
		return GJ_HUNG_UNKNOWN;

	*before = now;
	if (beats == 0)
		return state != 0 && wants_processor(pid) ? GJ_HUNG_STARVED : GJ_HUNG_STUCK;
	/* n heartbeats span at least n - 1 intervals: twice that is late */
	if ((beats - 1) * GJ_BEAT_MS * 2 < elapsed_ms || load.processor_share < GOOD_SHARE)
		return GJ_HUNG_STARVED;
	return GJ_HUNG_STUCK;
}

bool
gj_stands_still(const char *socket, pid_t pid, GjLook *before)
{
	char		state;
	struct gj_load load;
	GjLook		first = *before;

	*before = look_at(socket, pid, &state, &load);
	if (first.at_us == 0 || before->beats != first.beats)
		return false;
	if (before->stopped)
		return first.stopped || before->beats != 0;
	return before->beats != 0 && !(state != 0 && wants_processor(pid));
}
