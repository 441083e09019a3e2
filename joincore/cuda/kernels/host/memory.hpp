#pragma once
#include <memory>
#include <string>

#include "cuda.hpp"

// Memory of the device: lines of 16 bytes that begin as garbage.
struct Memory {
  std::vector<std::unique_ptr<std::vector<uint4>>> buffers;
  uint64_t take(size_t bytes) {
    buffers.push_back(std::make_unique<std::vector<uint4>>(bytes / 16 + 32, uint4{0xa5a5a5a5u, 0xa5a5a5a5u, 0xa5a5a5a5u, 0xa5a5a5a5u}));
    return reinterpret_cast<uint64_t>(buffers.back()->data());
  }
  uint64_t take(const std::string& content) {
    const uint64_t at = take(content.size());
    memcpy(reinterpret_cast<void*>(at), content.data(), content.size());
    return at;
  }
  // Words of 4 bytes that begin as 0.
  uint64_t take_cleared(size_t words) {
    const uint64_t at = take(4 * words);
    memset(reinterpret_cast<void*>(at), 0, 4 * words);
    return at;
  }
};
