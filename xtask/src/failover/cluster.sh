# Supervises a cluster: three PostgreSQL nodes under Patroni, etcd for Patroni's leader lock, HAProxy in front.
#
# Arguments: the directory to make, the directory of PostgreSQL's programs, and nine ports: etcd's two, HAProxy's, and
# for each node PostgreSQL's and Patroni's. Runs until the end of its standard input, then stops everything and removes
# the directory. Ignores signals, because only the pipe tells it to stop.

trap '' HUP INT TERM
directory=$1 programs=$2 etcd=$3 peer=$4 proxy=$5
shift 5
exec 3<&0 </dev/null
umask 077
PATH=$PATH:/usr/sbin

if ! mkdir "$directory"; then
    echo "xtask: set TMPDIR to a directory that the user $(id -un) can write to" >&2
    exit 1
fi
cd "$directory"

cat >haproxy.cfg <<END
global
    maxconn 500
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    timeout check 1s
listen primary
    bind 127.0.0.1:$proxy
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
    server n0 127.0.0.1:$1 check port $2
    server n1 127.0.0.1:$3 check port $4
    server n2 127.0.0.1:$5 check port $6
END

# One etcd is enough: the test kills PostgreSQL alone. Synchronous mode is strict, because a write that is acknowledged
# while no standby has it would be lost with the primary. `primary_start_timeout: 0` lets a standby take over at once,
# instead of waiting for the primary to restart.
#
# A node that comes back is rewound, which needs full page writes, or copied anew, which begins with a checkpoint: one
# that isn't fast takes minutes.
for node in n0 n1 n2; do
    mkdir "$node"
    cat >"$node/patroni.yaml" <<END
scope: gatehouse
name: $node
etcd3: { host: "127.0.0.1:$etcd" }
restapi: { listen: "127.0.0.1:$2", connect_address: "127.0.0.1:$2" }
bootstrap:
  dcs:
    ttl: 6
    loop_wait: 1
    retry_timeout: 2
    primary_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 200, shared_buffers: 32MB, max_wal_senders: 10 }
  initdb: [ encoding: UTF8, locale: C, no-sync ]
postgresql:
  listen: "127.0.0.1:$1"
  connect_address: "127.0.0.1:$1"
  data_dir: "$directory/$node/data"
  bin_dir: "$programs"
  pgpass: "$directory/$node/pgpass"
  authentication:
    superuser: { username: gatehouse, password: unused }
    replication: { username: replicator, password: unused }
  pg_hba: [ "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust" ]
  parameters: { unix_socket_directories: "", fsync: "off" }
  basebackup: [ checkpoint: fast ]
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
END
    shift 2
done

# Each program gets its own process group, so that its children are killed with it.
setsid etcd --name one --data-dir etcd --log-level error \
    --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "one=http://127.0.0.1:$peer" 3<&- >etcd.log 2>&1 &
groups=$!
setsid haproxy -db -f haproxy.cfg 3<&- >haproxy.log 2>&1 &
groups="$groups $!"
for node in n0 n1 n2; do
    setsid patroni "$node/patroni.yaml" 3<&- >"$node/log" 2>&1 &
    groups="$groups $!"
done

# Only the end of the input matters.
while read -r _ <&3; do :; done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
# Patroni starts PostgreSQL in another session. The process ID may belong to another program by now.
for node in n0 n1 n2; do
    server=$(head -n 1 "$node/data/postmaster.pid" 2>/dev/null)
    while [ -n "$server" ] && [ "$(readlink "/proc/$server/cwd")" = "$directory/$node/data" ]; do
        kill -QUIT "$server"
        sleep 0.1
    done
done
cd /
rm -rf "$directory"
