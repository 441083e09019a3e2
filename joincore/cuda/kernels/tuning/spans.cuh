// Launch parameters of copies by threads.
#pragma once

namespace gj {

constexpr int span_threads = 512;
constexpr int span_units = 4;  // 16-byte loads of a thread in flight

}  // namespace gj
