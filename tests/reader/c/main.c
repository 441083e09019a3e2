/*
 * main.c - tries inputs one after the other: each is 4 bytes of length
 * and that number of bytes on standard input; 8 bytes of result go out.
 *
 * clang -DLIBFUZZER -fsanitize=fuzzer,address makes a libFuzzer target of the
 * same parts instead.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>

#undef fprintf

/* The input in memory of exactly its size, so that reading on is noticed. */
static uint64
try_copy(const uint8 *data, size_t size)
{
	uint8	   *copy = malloc(size > 0 ? size : 1);
	volatile uint64 result = UINT64_MAX;

	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	if (sigsetjmp(server_error, 0) == 0)
		result = try_input(copy, size);
	server_reset();
	free(copy);
	return result;
}

#ifdef LIBFUZZER
int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	(void) try_copy(data, size);
	return 0;
}
#else
int
main(void)
{
	static uint8 data[1 << 20];
	uint32		size;

	while (fread(&size, sizeof(size), 1, stdin) == 1)
	{
		uint64		result;

		if (size > sizeof(data) || fread(data, 1, size, stdin) != size)
			abort();
		result = try_copy(data, size);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1 || fflush(stdout) != 0)
			abort();
	}
	return 0;
}
#endif
