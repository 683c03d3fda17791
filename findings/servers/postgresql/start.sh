# Makes a database in a folder, and serves it at a port.
set -e
bin/initdb -D "$1" -U postgres -A trust --no-sync --locale=C >&2
exec bin/postgres -D "$1" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c shared_buffers=32MB -c fsync=off -c autovacuum=off
