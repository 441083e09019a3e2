/*
 * server.c - the little of a PostgreSQL server that the extension's readers
 * need: one memory context, errors that end an input, and no waiting.  What is
 * not here must not be called.
 */
#include "server.h"

#include <stdlib.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#undef vsnprintf
#undef strlcpy

/* More than any test needs; a value of a gigabyte would be found by size. */
#define MOST_MEMORY (UINT64_C(1) << 24)

typedef struct Block
{
	struct Block *next;
	struct Block *previous;
	uint64		align;
	uint64		size;
} Block;

sigjmp_buf	server_error;
volatile sig_atomic_t InterruptPending = 0;
MemoryContext CurrentMemoryContext = NULL;
struct Latch *MyLatch = NULL;

static Block blocks = {&blocks, &blocks, 0, 0};

static void *
allocate(Size size)
{
	Block	   *b;

	if (size > MOST_MEMORY)
		siglongjmp(server_error, 1);
	b = malloc(sizeof(*b) + size);
	if (b == NULL)
		abort();
	b->size = size;
	b->next = blocks.next;
	b->previous = &blocks;
	b->next->previous = b;
	blocks.next = b;
	return b + 1;
}

void
pfree(void *pointer)
{
	Block	   *b = (Block *) pointer - 1;

	b->next->previous = b->previous;
	b->previous->next = b->next;
	free(b);
}

void
server_reset(void)
{
	while (blocks.next != &blocks)
		pfree(blocks.next + 1);
}

void *
palloc(Size size)
{
	return allocate(size);
}

void *
palloc0(Size size)
{
	return memset(allocate(size), 0, size);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return allocate(size);
}

/* elog(ERROR): only what a test itself does wrong leads there. */
bool
errstart_cold(int elevel, const char *domain)
{
	abort();
}

/* All that will ever come is there: whoever waits has misread a length. */
int
WaitLatchOrSocket(Latch *latch, int events, pgsocket sock, long timeout, uint32 info)
{
	abort();
}

int
pg_vsnprintf(char *str, size_t count, const char *fmt, va_list args)
{
	return vsnprintf(str, count, fmt, args);
}
