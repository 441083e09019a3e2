// The payload kinds by their names in kernels' names: <bytes>x<columns>, f<words of fields>,
// h<bytes of fields, of which one is beside the hash>, id.
#pragma once
#include "layout/payload.cuh"

namespace gj {

using p_0 = Payload<PayloadKind::column, 0>;
using p_4x1 = Payload<PayloadKind::column, 1>;
using p_4x2 = Payload<PayloadKind::column, 2>;
using p_4x3 = Payload<PayloadKind::column, 3>;
using p_4x4 = Payload<PayloadKind::column, 4>;
using p_4x6 = Payload<PayloadKind::column, 6>;
using p_4x8 = Payload<PayloadKind::column, 8>;
using p_8x1 = Payload<PayloadKind::column, 2, 2>;
using p_8x2 = Payload<PayloadKind::column, 4, 2>;
using p_8x4 = Payload<PayloadKind::column, 8, 2>;
using p_f1 = Payload<PayloadKind::field, 1>;
using p_f2 = Payload<PayloadKind::field, 2>;
using p_f3 = Payload<PayloadKind::field, 3>;
using p_f4 = Payload<PayloadKind::field, 4>;
using p_f5 = Payload<PayloadKind::field, 5>;
using p_f6 = Payload<PayloadKind::field, 6>;
using p_f7 = Payload<PayloadKind::field, 7>;
using p_f8 = Payload<PayloadKind::field, 8>;
using p_h1 = Payload<PayloadKind::field, 1, 1, true>;
using p_h5 = Payload<PayloadKind::field, 2, 1, true>;
using p_h9 = Payload<PayloadKind::field, 3, 1, true>;
using p_h13 = Payload<PayloadKind::field, 4, 1, true>;
using p_id = Payload<PayloadKind::row_id, 1>;

}  // namespace gj
