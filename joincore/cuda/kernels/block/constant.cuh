// A compile-time truth value to pass to generic lambdas.
#pragma once

namespace gj {

template <bool V>
struct Constant {
  static constexpr bool value = V;
};

}  // namespace gj
