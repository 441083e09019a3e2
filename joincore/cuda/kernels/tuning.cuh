// What is chosen by compute capability. It changes speed, never results.
#pragma once

namespace gj {

// One scatter kernel: threads a block, rows a thread, blocks a multiprocessor.
struct ScatterTuning {
  int threads, rows, blocks;
};

// By words a row: a tile's rows wait in registers, so what a row is wide a tile is short.
constexpr ScatterTuning scatter_tuning(int words) {
  return words <= 1   ? ScatterTuning{512, 24, 2}
         : words == 2 ? ScatterTuning{512, 16, 2}
         : words == 3 ? ScatterTuning{512, 12, 2}
         : words == 4 ? ScatterTuning{512, 9, 2}
         : words == 5 ? ScatterTuning{512, 8, 2}
         : words == 6 ? ScatterTuning{512, 7, 2}
                      : ScatterTuning{512, 4, 2};
}

// One match kernel: threads a block, build rows a chunk, buckets, probe rows a thread, blocks a multiprocessor.
struct MatchTuning {
  int threads, chunk, buckets, rows, blocks;
};

constexpr MatchTuning match_tuning(int build_words, int probe_words) {
  return build_words <= 3 ? MatchTuning{512, 4608, 8192, 4, 2} : MatchTuning{512, 2304, 4096, 4, 2};
}

constexpr int histogram_threads = 1024, offsets_threads = 1024, close_threads = 1024;

}  // namespace gj
