/*
 * layout.h - every byte that a backend and the daemon share.
 *
 * Three kinds of bytes are described here and nowhere else:
 *
 *  1. extents: sealed memfds of one fixed size that hold one batch of rows in
 *     column layout, consecutive long values (extent.h), or a filter (filter.h),
 *  2. frames: the control messages on the unix socket (frame.h, kept.h, source.h,
 *     stats.h), and
 *  3. the status file (status.h) and the file of kept columns (keptfile.h).
 *
 * These files are authoritative; shm/ mirrors them in Go, and a test compares
 * both by the compiler's debug information.  They include only <stdint.h>, so
 * that the extension, tools and tests can all include them.
 *
 * Everything is little-endian, naturally aligned, and addressed by offsets,
 * never by pointers.  A reader copies a header to private memory once, checks
 * the copy, and clamps every offset that it reads afterwards.
 */
#ifndef GPUJOIN_LAYOUT_H
#define GPUJOIN_LAYOUT_H

#define GJ_PROTOCOL_VERSION 10
#define GJ_LAYOUT_VERSION	13

#include "extent.h"
#include "filter.h"
#include "frame.h"
#include "kept.h"
#include "keptfile.h"
#include "source.h"
#include "stats.h"
#include "status.h"

#endif							/* GPUJOIN_LAYOUT_H */
