// Host side of one join, as the Go provider does it: plan the buffers in one
// arena, fill the descriptor, launch, read the counters back, synchronise once.
#pragma once
#include <string>
#include <vector>

#include "../kernels/descriptor.h"
#include "driver.hpp"

struct Shape {
  uint64_t rows[2];   // build, probe
  int key_bytes;      // 4 or 8
  int columns[2];     // payload columns
  int bytes;          // of a payload value: 4 or 8
  uint64_t output_rows;  // capacity
  bool by_row_id = false;  // payloads are gathered at the end (PHJ-UM), not carried (PHJ-OM)
};

struct Result {
  uint64_t rows = 0;
  int launches = 0;
  uint64_t peak_bytes = 0;  // inputs, buffers and output
};

// A partitioned hash join, with carried or with gathered payloads.
class PartitionedJoin {
 public:
  // bits: hash bits to partition by, -1: as many as the match wants; tags pick variants of kernels.
  PartitionedJoin(const driver::Module& kernels, const Shape& shape, int bits = -1, const std::string& scatter_tag = "", const std::string& match_tag = "");
  // Bytes of arena that the join needs.
  uint64_t arena_bytes() const { return arena_bytes_; }
  // input[s][0]: key column, then payload columns.
  void bind(CUdeviceptr arena, const std::vector<CUdeviceptr> input[2]);
  // Enqueues the whole join; marks, where given, gets an event after each step.
  void enqueue(CUstream stream, std::vector<CUevent>* marks = nullptr);
  // After the stream is synchronised.
  Result result() const;
  // Addresses of the result's columns: key, build's, probe's.
  std::vector<uint64_t> output() const;

  static const std::vector<std::string>& steps();
  ~PartitionedJoin();
  PartitionedJoin(const PartitionedJoin&) = delete;
  PartitionedJoin& operator=(const PartitionedJoin&) = delete;

 private:
  void mark(CUstream stream, std::vector<CUevent>* marks);
  Shape shape_;
  int first_bits_, second_bits_, sms_;
  driver::Kernel histogram_, offsets_, first_[2], second_[2], match_, close_, gather_;
  int carried_[2];     // payload columns of the partitioned rows
  int carried_bytes_;  // of a value of them
  std::vector<CUdeviceptr> input_[2];
  std::vector<uint64_t> gathered_[2];
  uint64_t arena_bytes_ = 0, input_bytes_ = 0, zero_bytes_ = 0;
  gj_join* host_ = nullptr;      // pinned
  uint64_t* counters_ = nullptr;  // pinned, read back
  CUdeviceptr descriptor_ = 0, zeroed_ = 0;
  size_t mark_at_ = 0;
  int launches_ = 0;
};
