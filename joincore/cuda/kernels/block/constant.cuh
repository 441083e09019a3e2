// A truth value that a generic lambda knows when it is compiled.
#pragma once

namespace gj {

template <bool V>
struct Constant {
  static constexpr bool value = V;
};

}  // namespace gj
