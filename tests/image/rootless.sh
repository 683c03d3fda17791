#!/bin/sh
# Run the image with podman of an ordinary user, strictly, and print what it says of itself.
#
#   rootless.sh IMAGE-ARCHIVE IMAGE FOLDER RUNTIME-OPTION…
#
# As root, in a mount namespace of its own: only there the user "daemon" has subordinate users.
set -eu

archive=$1 image=$2 folder=$3
shift 3
echo daemon:300000:65536 >"$folder/subordinates"
mount --bind "$folder/subordinates" /etc/subuid
mount --bind "$folder/subordinates" /etc/subgid
mount --make-rshared /
cd "$folder"
as_user() {
    setpriv --reuid=daemon --regid=daemon --clear-groups \
        env --ignore-environment HOME="$folder" XDG_RUNTIME_DIR="$folder" PATH=/usr/bin:/bin:/usr/sbin:/sbin \
        podman --cgroup-manager cgroupfs "$@"
}
as_user "$@" load --quiet --input "$archive" >&2
trap 'as_user "$@" rm --force --all --time 5 >&2; as_user system migrate >&2; as_user unshare rm -rf "$folder/.local" >&2; as_user system migrate >&2' EXIT
as_user "$@" run --detach --name service --read-only --cap-drop=all --security-opt=no-new-privileges --network=none \
    --ulimit=nofile=1024:1024 --ulimit=nproc=4096:4096 "$image" >&2
tries=0
until as_user "$@" healthcheck run service >&2; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ]
    sleep 1
done
as_user "$@" info --format 'rootless {{.Host.Security.Rootless}}'
as_user "$@" exec service cat /proc/self/uid_map
