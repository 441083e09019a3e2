// The payload kinds by their names in kernels' names: <bytes>x<columns>, f<fields>,
// id.
#pragma once
#include "layout/payload.cuh"

namespace gj {

using p_0 = Payload<Form::column, 0>;
using p_4x1 = Payload<Form::column, 1>;
using p_4x2 = Payload<Form::column, 2>;
using p_4x3 = Payload<Form::column, 3>;
using p_4x4 = Payload<Form::column, 4>;
using p_4x6 = Payload<Form::column, 6>;
using p_4x8 = Payload<Form::column, 8>;
using p_8x1 = Payload<Form::column, 2, 2>;
using p_8x2 = Payload<Form::column, 4, 2>;
using p_8x4 = Payload<Form::column, 8, 2>;
using p_f2 = Payload<Form::field, 2>;
using p_f4 = Payload<Form::field, 4>;
using p_f8 = Payload<Form::field, 8>;
using p_id = Payload<Form::row_id, 1>;

}  // namespace gj
