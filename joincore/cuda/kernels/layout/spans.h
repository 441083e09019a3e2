// What one kernel copies, and how it says that it has ended: the kernel's only parameter.
// All fields are 8 bytes; addresses are device addresses.
#pragma once
#include <stdint.h>

#define GJ_SPANS 8  // the most pieces of a copy

// Bytes [from, from + bytes) go to [to, to + bytes). The two addresses of a piece are
// equal modulo 16.
typedef struct {
  uint64_t count;  // of pieces
  uint64_t to[GJ_SPANS];
  uint64_t from[GJ_SPANS];
  uint64_t bytes[GJ_SPANS];
  uint64_t ended;    // uint32, 0 before and after: blocks that have copied their part
  uint64_t mark;     // uint64 of host memory
  uint64_t content;  // what mark is set to when all bytes are visible to the host and to all devices
} gj_spans;
