// Launch parameters of the kernels of joins over several devices that are not scatters.
#pragma once

namespace gj {

constexpr int fold_threads = 256;

}  // namespace gj
