#include "join.hpp"

#include <algorithm>
#include <cstring>

namespace {

constexpr uint64_t line = 256;
uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Takes addresses from a region, or only adds up sizes.
struct Bump {
  uint64_t at;
  uint64_t take(uint64_t bytes) {
    uint64_t r = at;
    at += round_up(bytes, line);
    return r;
  }
};

}  // namespace

const std::vector<std::string>& PartitionedJoin::steps() {
  static const std::vector<std::string> s = {"histogram", "offsets", "first R", "first S", "second R", "second S", "match", "close", "gather"};
  return s;
}

PartitionedJoin::PartitionedJoin(const driver::Module& kernels, const Shape& shape, int bits, const std::string& scatter_tag, const std::string& match_tag)
    : shape_(shape) {
  CUdevice device;
  CU(cuCtxGetDevice, &device);
  CU(cuDeviceGetAttribute, &sms_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  for (int s = 0; s < 2; s++) carried_[s] = shape.by_row_id ? 1 : shape.columns[s];
  carried_bytes_ = shape.by_row_id ? 4 : shape.bytes;
  for (uint64_t rows : shape.rows)
    if (rows >= (1ull << 32) - (1ull << 20)) driver::die("an input has more rows than the kernels can number");
  const int kw = shape.key_bytes / 4, cw = carried_bytes_ / 4;
  auto n = [](int v) { return std::to_string(v); };
  const std::string k = "k" + n(kw);
  match_ = kernels.kernel("gj_inner_" + k + "_b" + n(cw * carried_[0]) + "x" + n(cw) + "_p" + n(cw * carried_[1]) + "x" + n(cw) + match_tag);
  for (int s = 0; s < 2; s++) {
    const std::string w = "_w" + n(kw + cw * carried_[s]);
    first_[s] = kernels.kernel("gj_first_" + k + w + "_c" + n(shape.by_row_id ? 0 : cw) + scatter_tag);
    second_[s] = kernels.kernel("gj_second_" + k + w + scatter_tag);
  }
  auto most = [&](const driver::Kernel* k) {
    int b = 0;
    while (2u << b <= std::min(k[0].fan, k[1].fan)) b++;
    return b;
  };
  const int most_first = most(first_), most_second = most(second_);
  if (bits < 0)
    for (bits = 0; (shape.rows[0] >> bits) * 10 > match_.rows * 9ull;) bits++;
  bits = std::min(bits, std::min(16, most_first + most_second));
  first_bits_ = bits <= most_first ? bits : std::min(bits / 2, most_first);
  second_bits_ = bits - first_bits_;
  histogram_ = kernels.kernel("gj_histogram_" + k, bits <= 15 ? 4u << bits : 2u << bits);
  offsets_ = kernels.kernel("gj_offsets");
  close_ = kernels.kernel("gj_close");
  if (shape.by_row_id) gather_ = kernels.kernel("gj_gather_" + n(shape.bytes));
  CU(cuMemHostAlloc, reinterpret_cast<void**>(&host_), sizeof *host_, 0);
  CU(cuMemHostAlloc, reinterpret_cast<void**>(&counters_), GJ_COUNTERS * 8, 0);
  std::vector<CUdeviceptr> none[2];
  bind(0, none);
}

void PartitionedJoin::bind(CUdeviceptr arena, const std::vector<CUdeviceptr> input[2]) {
  gj_join& j = *host_;
  memset(&j, 0, sizeof j);
  const uint64_t parts = std::max(4ull, 1ull << (first_bits_ + second_bits_)), parents = 1ull << first_bits_;
  Bump b{arena};
  zeroed_ = b.take(GJ_COUNTERS * 8);
  j.counters = zeroed_;
  for (auto& s : j.side) s.count = b.take(parts * 4);
  zero_bytes_ = b.at - zeroed_;
  descriptor_ = b.take(sizeof j);
  j.tails = b.take(1024 * 8);
  j.extra = b.take((parts + 1) * 8);
  for (auto& s : j.side) {
    s.start = b.take(parts * 4);
    s.cursor = b.take(parts * 4);
    s.tail = b.take(parts * 4);
    s.parent_count = b.take(parents * 4);
    s.parent_start = b.take(parents * 4);
    s.parent_cursor = b.take(parents * 4);
    s.parent_tail = b.take(parents * 4);
  }
  input_bytes_ = 0;
  uint64_t width[2];
  for (int i = 0; i < 2; i++) {
    gj_side& s = j.side[i];
    width[i] = shape_.key_bytes + (uint64_t)carried_[i] * carried_bytes_;
    input_bytes_ += shape_.rows[i] * (shape_.key_bytes + (uint64_t)shape_.columns[i] * shape_.bytes);
    s.rows = shape_.rows[i];
    s.final_capacity = round_up(s.rows + 8 * parts, 64);
    s.final = b.take(s.final_capacity * width[i]);
  }
  // The first pass's buffers are dead when the result is written.
  Bump output = b;
  if (second_bits_)
    for (int i = 0; i < 2; i++) {
      gj_side& s = j.side[i];
      s.first_capacity = round_up(s.rows + 32 * parents, 64);
      s.first = b.take(s.first_capacity * width[i]);
    }
  const uint64_t blocks = std::min<uint64_t>(1024, (uint64_t)sms_ * match_.blocks);
  j.output_chunk = 512;
  while (j.output_chunk < 4096 && j.output_chunk * blocks * 64 < shape_.output_rows) j.output_chunk *= 2;
  j.output_capacity = round_up(shape_.output_rows, j.output_chunk) + blocks * j.output_chunk;
  j.tail_count = blocks;
  j.output_key = output.take(j.output_capacity * shape_.key_bytes);
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < carried_[i]; c++) j.output_column[i][c] = output.take(j.output_capacity * carried_bytes_);
  for (int i = 0; i < 2; i++) {
    input_[i] = input[i];
    gathered_[i].clear();
    for (int c = 0; shape_.by_row_id && c < shape_.columns[i]; c++) gathered_[i].push_back(output.take(shape_.output_rows * shape_.bytes));
  }
  arena_bytes_ = std::max(b.at, output.at) - arena;
  j.bits_first = first_bits_, j.bits_second = second_bits_;
  j.chunk_rows = match_.rows;
  j.range_rows = 8 * match_.rows;
  if (!arena) return;
  for (int i = 0; i < 2; i++) {
    j.side[i].key = input[i][0];
    for (int c = 0; !shape_.by_row_id && c < shape_.columns[i]; c++) j.side[i].column[c] = input[i][1 + c];
  }
}

void PartitionedJoin::mark(CUstream stream, std::vector<CUevent>* marks) {
  if (marks) CU(cuEventRecord, (*marks)[mark_at_++], stream);
}

void PartitionedJoin::enqueue(CUstream stream, std::vector<CUevent>* marks) {
  mark_at_ = 0, launches_ = 6 + (second_bits_ ? 2 : 0);  // and the gathers
  CU(cuMemsetD8Async, zeroed_, 0, zero_bytes_, stream);
  CU(cuMemcpyHtoDAsync, descriptor_, host_, sizeof *host_, stream);
  const uint64_t rows = shape_.rows[0] + shape_.rows[1];
  auto grid = [&](const driver::Kernel& k, uint64_t tiles) {
    return (unsigned)std::max<uint64_t>(1, std::min<uint64_t>((uint64_t)sms_ * k.blocks, tiles));
  };
  driver::launch(histogram_.function, std::max(2u, grid(histogram_, rows / 8192)), histogram_.threads, histogram_.shared, stream, descriptor_);
  mark(stream, marks);
  driver::launch(offsets_.function, 2, offsets_.threads, 0, stream, descriptor_);
  mark(stream, marks);
  for (int s = 0; s < 2; s++) {
    driver::launch(first_[s].function, grid(first_[s], shape_.rows[s] / first_[s].rows + 1), first_[s].threads, first_[s].shared, stream, descriptor_, s);
    mark(stream, marks);
  }
  for (int s = 0; s < 2; s++) {
    if (second_bits_)
      driver::launch(second_[s].function, grid(second_[s], shape_.rows[s] / second_[s].rows + (1u << first_bits_)), second_[s].threads, second_[s].shared,
                     stream, descriptor_, s);
    mark(stream, marks);
  }
  driver::launch(match_.function, (unsigned)host_->tail_count, match_.threads, match_.shared, stream, descriptor_);
  mark(stream, marks);
  driver::launch(close_.function, 32, close_.threads, 0, stream, descriptor_, shape_.key_bytes / 4, carried_[0], carried_[1], carried_bytes_ / 4,
                 carried_bytes_ / 4);
  mark(stream, marks);
  for (int i = 0; i < 2; i++)
    for (size_t c = 0; c < gathered_[i].size(); c++, launches_++)
      driver::launch(gather_.function, grid(gather_, shape_.output_rows / 2048 + 1), gather_.threads, 0, stream, descriptor_, host_->output_column[i][0],
                     input_[i][1 + c], gathered_[i][c], shape_.output_rows);
  mark(stream, marks);
  CU(cuMemcpyDtoHAsync, counters_, zeroed_, GJ_COUNTERS * 8, stream);
}

PartitionedJoin::~PartitionedJoin() {
  CU(cuMemFreeHost, host_);
  CU(cuMemFreeHost, counters_);
}

Result PartitionedJoin::result() const {
  return {counters_[GJ_OUTPUT_ROWS], launches_, input_bytes_ + arena_bytes_};
}

std::vector<uint64_t> PartitionedJoin::output() const {
  std::vector<uint64_t> a{host_->output_key};
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < shape_.columns[i]; c++) a.push_back(shape_.by_row_id ? gathered_[i][c] : host_->output_column[i][c]);
  return a;
}
