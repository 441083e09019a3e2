#!/bin/sh
# Writes a source file for each kernel of entry/fused.inc into bin/fused and prints
# the kernels' names. Unchanged sources keep their time stamps; files of removed
# kernels are deleted.
set -eu
dir=bin/fused
mkdir -p "$dir"

# NAME:HEADER:MACRO(...) for each kernel. The preprocessor does not expand a macro
# within its own expansion, which leaves MACRO(...) as it is.
units=$(${CC:-cc} -E -P -x c \
    -D'FIRST(K,P)=gj_first_k##K##_##P:passes:FIRST(K,P)' \
    -D'FIRST_FIELDS(K,P)=gj_first_k##K##_##P:passes:FIRST_FIELDS(K,P)' \
    -D'FIRST_UNALIGNED(K,P)=gj_unaligned_k##K##_##P:passes:FIRST_UNALIGNED(K,P)' \
    -D'SEND(K,P)=gj_send_k##K##_##P:sends:SEND(K,P)' \
    -D'SEND_PACKED(K)=gj_send_k##K##_packed:sends:SEND_PACKED(K)' \
    -D'COLD(K,P)=gj_cold_k##K##_##P:passes:COLD(K,P)' \
    -D'SECOND(K,W)=gj_second_k##K##_w##W:passes:SECOND(K,W)' \
    -D'FIRST_BESIDE(P)=gj_first_k1_##P:passes:FIRST_BESIDE(P)' \
    -D'SECOND_OF_REST(W)=gj_second_rest_w##W:passes:SECOND_OF_REST(W)' \
    -D'PLACE(K)=gj_place_k##K:passes:PLACE(K)' \
    -D'PACK(K)=gj_pack_k##K:passes:PACK(K)' \
    -D'INNER(K,B,S)=gj_inner_k##K##_##B##_##S:matches:INNER(K,B,S)' \
    -D'LISTED(K,B,S)=gj_listed_k##K##_##B##_##S:matches:LISTED(K,B,S)' \
    -D'BYPASS(K,B,S)=gj_bypass_k##K##_##B##_##S:matches:BYPASS(K,B,S)' \
    entry/fused.inc)

names=
for unit in $units; do
    name=${unit%%:*}
    rest=${unit#*:}
    source=$(printf '#include "entry/%s.cuh"\n%s' "${rest%%:*}" "${rest#*:}")
    [ "$(cat "$dir/$name.cu" 2>/dev/null || true)" = "$source" ] || printf '%s\n' "$source" >"$dir/$name.cu"
    names="$names$name "
done
for file in "$dir"/*; do
    name=${file##*/}
    case " $names" in
    *" ${name%%.*} "*) ;;
    *) rm -f "$file" ;;
    esac
done
echo "$names"
