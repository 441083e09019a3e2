// Where a first pass stores its rows when they go to several devices: one gj_send per
// side and range of rows, in the memory of the device that sends. All fields are 8
// bytes; addresses are device addresses, those of buffers of any device.
#pragma once
#include <stdint.h>

#define GJ_MEMBERS 16  // the most devices of a join

// The sender numbers the rows of each partition from 0. A row below `full` goes to row
// number + front of the receiver's buffer, a later one to number + rest, modulo 2^32:
// so every receiver has each partition in one piece, in which the runs of all senders
// begin at whole units.
typedef struct {
  uint64_t base[GJ_MEMBERS];      // the row buffer of each member
  uint64_t capacity[GJ_MEMBERS];  // its rows
  uint64_t members;
  uint64_t to;      // uint32[partitions]: the members that get the partition's rows, a bit for each
  uint64_t full;    // uint32[partitions]
  uint64_t front;   // uint32[members * partitions]: by member, then partition
  uint64_t rest;    // the same
  uint64_t cursor;  // uint32[partitions]: the next free row from the front, 0 at first
  uint64_t tail;    // uint32[partitions]: the row after the last free one, at first the partition's rows
  uint64_t first_row;          // the number that the first row of the range has as a row id
  uint64_t lanes[GJ_MEMBERS];  // the lanes of a packed payload of each member, of as many rows as its row buffer; gj_packed.lane is then
                               // the bytes of a row in the lanes before
} gj_send;
