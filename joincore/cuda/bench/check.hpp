#pragma once
#include "driver.hpp"

// Joins small random inputs on the device and on the host and compares whole
// results, for every kernel variant, sizes around warps and tiles, keys from
// none to many duplicates with the extreme values among them, and results
// larger than their buffer. Prints what differs; true: nothing does.
bool check_joins(const driver::Module& kernels);
