// Rows that are compressed before they cross a slow link, and where they are. All fields are 8
// bytes; addresses are device addresses.
//
// Rows of W words of 4 bytes, the key's first, travel in chunks of at most GJ_CHUNK_ROWS rows of one
// partition. A chunk is words of 4 bytes, at a multiple of 16 bytes:
//
//   1 word                rows, in its lower half; the form of the key << 16; the bits of a key << 24
//   key words             the least key; 0 unless the form says that keys are less it
//   W - key words         the least value of each other word
//   a byte for each       the bits of its values, padded to whole words
//   bits                  of all keys, then of the values of each other word: the first row in the lowest bits of the
//                         first word, each list padded to whole words
//
// Values are less the least one, modulo 2^32; those of keys modulo the key's width. The least is that of signed
// numbers, so that small negative values have few bits as well. If the hash of keys without
// the bits that number the partition has fewer bits than keys less the least one, it is sent in their place.
// A chunk that would not shrink has only the first word, and then the words of all rows, the first one of
// all rows first.
#pragma once
#include <stdint.h>

#define GJ_CHUNK_ROWS 1024
#define GJ_CHUNK_UNIT 16         // bytes at whose multiples chunks begin
#define GJ_COMPRESSED_WORDS 514  // the most words of a row

enum gj_chunk_form {
  GJ_CHUNK_RAW,     // as the words are
  GJ_CHUNK_LEAST,   // keys less the least one
  GJ_CHUNK_HASHED   // hashes of keys without the bits of the partition
};

// One word of all rows: that of row 0, and the bytes from one row to the next.
typedef struct {
  uint64_t at, stride;
} gj_row_word;

// Rows of a partition that follow one another, at least one.
typedef struct {
  uint64_t row;        // the first one
  uint64_t rows;
  uint64_t partition;  // of the first pass
  uint64_t chunk;      // the number of its first chunk among those of all parts
  uint64_t parcel;     // the number of the parcel that its chunks are in
} gj_row_part;

// The chunks that go to one device.
typedef struct {
  uint64_t chunk;   // the number of the first one
  uint64_t places;  // uint32[chunks]: where they begin, in units from data on
  uint64_t data;
  uint64_t used;    // uint32: units of data that are in use, 0 at first; 0 if rows are expanded
} gj_parcel;

typedef struct {
  uint64_t words;        // gj_row_word[word_count]
  uint64_t word_count;
  uint64_t shared_bits;  // of the hash, which number the partition
  uint64_t parts;        // gj_row_part[part_count], by number of the first chunk
  uint64_t part_count;
  uint64_t parcels;      // gj_parcel[]
  uint64_t chunks;       // of all parts
} gj_compression;
