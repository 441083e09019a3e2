#!/bin/sh
# units.sh BINDIR DIRECTORY
#
# Writes the units of systemd, gpujoind.service and gpujoind@.service, for programs in
# BINDIR, into a directory.
set -eu

[ $# -eq 2 ] || {
    echo "usage: units.sh BINDIR DIRECTORY" >&2
    exit 2
}
bindir=$1 directory=$2
template=$(dirname "$0")/../packaging/systemd/gpujoind.service.in

sed -e "s#@BINDIR@#$bindir#" -e '/^@HOW@$/s/.*//' -e 's/@SERVER@/a PostgreSQL server/' -e 's/@INSTANCE@/gpujoind/' \
    -e 's/@UNIT@/gpujoind/' -e 's/@CLUSTER@//' -e 's/@CONFIG@//' -e 's/@DASH@//' \
    "$template" >"$directory/gpujoind.service"

how='#\
# The file must name the socket and the directory of this instance, and the setting\
# gpujoin.socket of the cluster the same socket:\
#\
#   gpujoind config --socket /run/gpujoin-15-main/gpujoind.sock \\\
#       --state-dir /var/lib/gpujoin-15-main >/etc/gpujoin/15-main.toml\
'
sed -e "s#@BINDIR@#$bindir#" -e "s|^@HOW@\$|$how|" -e 's/@SERVER@/one of several PostgreSQL clusters/' -e 's/@INSTANCE@/15-main/' \
    -e 's/@UNIT@/gpujoind@15-main/' -e 's/@CLUSTER@ */ cluster %i/' -e 's#@CONFIG@# --config /etc/gpujoin/%i.toml#' -e 's/@DASH@/-%i/' \
    "$template" >"$directory/gpujoind@.service"
