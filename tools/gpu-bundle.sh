#!/bin/sh
# Makes build/gpu-bundle: the script gpu-e2e, the program gpu that it runs, and an
# archive with everything that these need on a machine with only a GPU: PostgreSQL
# with its libraries as installed here, the extension, the daemon, the CUDA worker
# and a data generator.  PG_CONFIG selects the PostgreSQL, GO the Go command.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
pg_config=${PG_CONFIG:-pg_config}
go=${GO:-go}
bundle=$root/build/gpu-bundle
limit=$((72 << 20)) # bytes

die() {
    echo "gpu-bundle: $*" >&2
    exit 1
}

plugin=$root/build/cuda/out/bin/gpujoin-cuda
[ -x "$plugin" ] || die "gpujoin-cuda is not built; run make cuda"
command -v zstd >/dev/null || die "zstd is missing; install zstd"

mkdir -p "$root/build"
stage=$(mktemp -d "$root/build/gpu-bundle.XXXXXX")
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
mkdir "$stage/bin" "$stage/lib" "$stage/pg"

bindir=$("$pg_config" --bindir)
libdir=$("$pg_config" --pkglibdir)
sharedir=$("$pg_config" --sharedir)

# PostgreSQL finds its files relative to its program, so the directories keep
# their layout.  Of its modules, copies those that initdb and the server load:
# pgoutput sends changes of tables to who mirrors them.
mkdir -p "$stage/pg$bindir" "$stage/pg$libdir" "$stage/pg$sharedir/extension"
cp -L "$bindir/postgres" "$bindir/initdb" "$stage/pg$bindir"
cp -L "$libdir/plpgsql.so" "$libdir/dict_snowball.so" "$libdir/pgoutput.so" "$stage/pg$libdir"
for entry in "$sharedir"/*; do
    case ${entry##*/} in
    extension | man | locale) ;;
    *) cp -RL "$entry" "$stage/pg$sharedir" ;;
    esac
done
cp -L "$sharedir"/extension/plpgsql* "$stage/pg$sharedir/extension"
MAKEFLAGS='' make --no-print-directory -s -C "$root/fdw" install \
    DESTDIR="$stage/pg" PG_CONFIG="$pg_config" with_llvm=no >/dev/null

# Copies their libraries except the C library's, which must be the machine's.
for program in "$stage/pg$bindir"/* "$stage/pg$libdir"/*.so; do
    ldd "$program" | awk '$2 == "=>" { print $1, $3 }'
done | sort -u | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) ;;
    *) cp -L "$path" "$stage/lib/$name" ;;
    esac
done

cp "$plugin" "$root/build/bin/tpchgen-cli" "$stage/bin"
(cd "$root" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -ldflags='-s -w' -o "$stage/bin/gpujoind" ./cmd/gpujoind)
commit=$(git -c safe.directory='*' -C "$root" describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)
cat >"$stage/bundle.json" <<END
{"bindir": "$bindir", "libdir": "$libdir", "sharedir": "$sharedir", "commit": "$commit"}
END

rm -rf "$bundle"
mkdir -p "$bundle"
tar -C "$stage" --owner=0 --group=0 --sort=name -cf - . | zstd -q -19 --long=27 -T0 -o "$bundle/bundle.tar.zst"
(cd "$root/tests" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -ldflags='-s -w' -o "$bundle/gpu" ./cmd/gpu)
cat >"$bundle/gpu-e2e" <<'END'
#!/bin/sh
exec "$(dirname "$0")/gpu" e2e "$@"
END
chmod 755 "$bundle/gpu-e2e"

size=$(du -sb "$bundle" | cut -f1)
echo "build/gpu-bundle: $((size >> 20)) MiB; on the machine with the GPU, run its gpu-e2e"
[ "$size" -le "$limit" ] || die "more than $((limit >> 20)) MiB"
