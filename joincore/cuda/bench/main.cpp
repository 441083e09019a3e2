// Times the GPU joins on data made on the device and checks every result.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "check.hpp"
#include "join.hpp"

namespace {

struct Case {
  std::string name;
  uint64_t build, probe;
  int key_bytes, bytes, columns[2];
  uint64_t distinct;  // build keys
  uint64_t domain;    // probe keys; above distinct: the rest has no match
  double zipf;
  double bar;  // ms
};

std::vector<Case> cases() {
  const uint64_t R = 1ull << 27, S = 1ull << 28;
  return {
      {"4B-1+1", R, S, 4, 4, {1, 1}, R, R, 0, 8},
      {"4B-2+2", R, S, 4, 4, {2, 2}, R, R, 0, 11},
      {"4B-4+4", R, S, 4, 4, {4, 4}, R, R, 0, 16},
      {"4B/8B-2+2", R, S, 4, 8, {2, 2}, R, R, 0, 16},
      {"8B-2+2", R, S, 8, 8, {2, 2}, R, R, 0, 19},
      {"match-1/4", R, S, 4, 4, {2, 2}, R, 4 * R, 0, 9},
      {"match-1/16", R, S, 4, 4, {2, 2}, R, 16 * R, 0, 7.5},
      {"zipf-1.0", R, R, 4, 4, {2, 2}, R, R, 1.0, 7},
      {"zipf-1.5", R, R, 4, 4, {2, 2}, R, R, 1.5, 6},
      {"2^23x2^24", 1 << 23, 1 << 24, 4, 4, {2, 2}, 1 << 23, 1 << 23, 0, 0.8},
      {"2^20x2^21", 1 << 20, 1 << 21, 4, 4, {2, 2}, 1 << 20, 1 << 20, 0, 0.2},
      {"m:n-8x8", 1 << 24, 1 << 24, 4, 4, {2, 2}, 1 << 21, 1 << 21, 0, 0},
      {"m:n-hot", 1 << 20, 1 << 20, 4, 4, {2, 2}, 1 << 20, 64, 1.0, 0},
      {"n:1-dup", 1 << 20, 1 << 20, 4, 4, {2, 2}, 64, 1 << 20, 0, 0},
      {"2.2G-rows", 1 << 22, 2200000000, 4, 4, {0, 0}, 1 << 22, 1 << 22, 0, 0},
  };
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

uint64_t bits_of(double d) {
  uint64_t u;
  memcpy(&u, &d, 8);
  return u;
}

struct Data {
  CUfunction fill, expect, sum;
};

std::vector<uint64_t> addresses(const std::vector<CUdeviceptr>& v) { return {v.begin(), v.end()}; }

// Runs one case; returns its median in ms, negative when the result is wrong.
double run(const Case& c, const driver::Module& kernels, const Data& data, CUdeviceptr memory, uint64_t memory_bytes, int repeats, bool steps, int bits,
           const std::string& scatter_tag, const std::string& match_tag, bool by_row_id, unsigned long long expected[2], bool fresh) {
  Shape shape{{c.build, c.probe}, c.key_bytes, {c.columns[0], c.columns[1]}, c.bytes, 0, by_row_id};
  CUdeviceptr at = memory;
  auto take = [&](uint64_t n) {
    CUdeviceptr r = at;
    at += (n + 255) / 256 * 256;
    return r;
  };
  CUdeviceptr table = take(256), sum = take(256);
  std::vector<CUdeviceptr> input[2];
  for (int s = 0; s < 2; s++) {
    input[s].push_back(take(shape.rows[s] * c.key_bytes));
    for (int k = 0; k < c.columns[s]; k++) input[s].push_back(take(shape.rows[s] * c.bytes));
    if (!fresh) continue;
    auto a = addresses(input[s]);
    CU(cuMemcpyHtoD, table, a.data(), a.size() * 8);
    driver::launch(data.fill, 4096, 256, 0, nullptr, s, shape.rows[s], table, c.columns[s], c.key_bytes, c.bytes, s ? c.domain : c.distinct,
                   bits_of(c.zipf));
    CU(cuCtxSynchronize);
  }
  if (fresh) {
    CU(cuMemsetD8, sum, 0, 16);
    driver::launch(data.expect, 4096, 256, 0, nullptr, c.build, c.probe, c.columns[0], c.columns[1], c.key_bytes, c.bytes, c.distinct, c.domain,
                   bits_of(c.zipf), sum);
    CU(cuMemcpyDtoH, expected, sum, 16);
  }
  shape.output_rows = expected[1];
  PartitionedJoin join(kernels, shape, bits, scatter_tag, match_tag);
  if (at + join.arena_bytes() > memory + memory_bytes) driver::die("case " + c.name + " does not fit");
  join.bind(at, input);
  CU(cuMemsetD8, at, 0xa5, join.arena_bytes());

  CUstream stream;
  CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CUevent begin, end;
  CU(cuEventCreate, &begin, 0);
  CU(cuEventCreate, &end, 0);
  std::vector<CUevent> marks(PartitionedJoin::steps().size());
  for (auto& m : marks) CU(cuEventCreate, &m, 0);
  std::vector<float> ms, wall;
  std::vector<std::vector<float>> step(marks.size());
  for (int r = 0; r < repeats + 1; r++) {
    const bool marked = steps && r == repeats;
    double w = seconds();
    CU(cuEventRecord, begin, stream);
    join.enqueue(stream, marked ? &marks : nullptr);
    CU(cuEventRecord, end, stream);
    CU(cuStreamSynchronize, stream);
    w = seconds() - w;
    float t;
    CU(cuEventElapsedTime, &t, begin, end);
    if (r > 0 && !marked) ms.push_back(t), wall.push_back(w * 1e3);
    if (marked)
      for (size_t i = 0; i < marks.size(); i++) {
        CU(cuEventElapsedTime, &t, i ? marks[i - 1] : begin, marks[i]);
        step[i].push_back(t);
      }
  }
  Result result = join.result();
  unsigned long long got[2] = {0, 0};
  auto a = join.output();
  CU(cuMemcpyHtoD, table, a.data(), a.size() * 8);
  CU(cuMemsetD8, sum, 0, 16);
  driver::launch(data.sum, 4096, 256, 0, nullptr, std::min<uint64_t>(result.rows, shape.output_rows), table, a.size(), c.key_bytes, c.bytes, sum);
  CU(cuMemcpyDtoH, got, sum, 16);
  const bool right = result.rows == expected[1] && got[0] == expected[0] && got[1] == expected[1];
  std::sort(ms.begin(), ms.end());
  std::sort(wall.begin(), wall.end());
  const double median = ms[ms.size() / 2];
  uint64_t in = 0;
  for (int s = 0; s < 2; s++) in += shape.rows[s] * (c.key_bytes + c.columns[s] * c.bytes);
  const uint64_t out = expected[1] * (c.key_bytes + (c.columns[0] + c.columns[1]) * c.bytes);
  printf("%-11s %s%s%s %8.3f ms  min %8.3f  bar %5.1f  wall %8.3f  rows %10llu  launches %d  peak %5.2f of %5.2f GB  %s\n", c.name.c_str(), by_row_id ? "phj-um" : "phj-om", scatter_tag.c_str(), match_tag.c_str(), median, ms[0], c.bar, wall[wall.size() / 2], (unsigned long long)result.rows, result.launches, result.peak_bytes / 1e9,
         (in + std::max(2 * in, in + out)) * 1.05 / 1e9, right ? "right" : "WRONG");
  if (steps) {
    printf("   ");
    for (size_t i = 0; i < marks.size(); i++) printf(" %s %.3f", PartitionedJoin::steps()[i].c_str(), step[i][0]);
    printf("\n");
  }
  fflush(stdout);
  CU(cuStreamDestroy, stream);
  return right ? median : -1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string kernels_path = "kernels.fatbin", data_path = "data.fatbin", only, scatter_tags = ",", match_tags = ",";
  int repeats = 7, bits = -1;
  bool steps = false, check = false, by_row_id = false;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (a == "--kernels") kernels_path = value();
    else if (a == "--data") data_path = value();
    else if (a == "--case") only = value();
    else if (a == "--repeats") repeats = atoi(value().c_str());
    else if (a == "--bits") bits = atoi(value().c_str());
    else if (a == "--steps") steps = true;
    else if (a == "--check") check = true;
    else if (a == "--by-row-id") by_row_id = true;
    else if (a == "--scatter") scatter_tags = value() + ",";
    else if (a == "--match") match_tags = value() + ",";
    else driver::die("unknown argument " + a);
  }
  CU(cuInit, 0);
  CUdevice device;
  CU(cuDeviceGet, &device, 0);
  CUcontext context;
  CU(cuDevicePrimaryCtxRetain, &context, device);
  CU(cuCtxSetCurrent, context);
  driver::Module kernels(kernels_path), data_module(data_path);
  Data data{data_module.function("data_fill"), data_module.function("data_expect"), data_module.function("data_sum")};
  if (check) return check_joins(kernels) ? 0 : 1;
  size_t free_bytes, total_bytes;
  CU(cuMemGetInfo, &free_bytes, &total_bytes);
  const uint64_t memory_bytes = std::min<uint64_t>(free_bytes - (1ull << 30), 48ull << 30);
  CUdeviceptr memory;
  CU(cuMemAlloc, &memory, memory_bytes);
  bool right = true;
  auto split = [](std::string s) {
    std::vector<std::string> v;
    for (size_t at; (at = s.find(',')) != std::string::npos; s = s.substr(at + 1)) v.push_back(s.substr(0, at));
    return v;
  };
  for (const Case& c : cases()) {
    if (!only.empty() && ("," + only + ",").find("," + c.name + ",") == std::string::npos) continue;
    unsigned long long expected[2];
    bool fresh = true;
    for (auto& s : split(scatter_tags))
      for (auto& m : split(match_tags)) {
        right &= run(c, kernels, data, memory, memory_bytes, repeats, steps, bits, s, m, by_row_id, expected, fresh) >= 0;
        fresh = false;
      }
  }
  return right ? 0 : 1;
}
