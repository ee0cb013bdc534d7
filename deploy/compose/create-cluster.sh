#!/bin/sh
# Joins nodes to one cluster with a replica for each primary. Does nothing to nodes that are joined already.
#   create-cluster.sh HOST:PORT HOST:PORT ...     (six or more; CLI names another client than valkey-cli)
set -eu
cli=${CLI:-valkey-cli}
first=$1

ask() { "$cli" -h "${1%:*}" -p "${1##*:}" cluster info 2>/dev/null || true; }
serves() { ask "$1" | grep -q '^cluster_state:ok'; }
waits_for() {
  what=$1
  shift
  for _ in $(seq 60); do
    "$@" && return 0
    sleep 0.5
  done
  echo "create-cluster: $what did not happen within 30 s" >&2
  return 1
}
answers() { ask "$1" | grep -q '^cluster_state:'; }

for node in "$@"; do waits_for "an answer of $node" answers "$node"; done
# Nodes that were stopped together need a moment to find each other again.
if ask "$first" | grep -q '^cluster_known_nodes:1[^0-9]*$'; then
  "$cli" --cluster create "$@" --cluster-replicas 1 --cluster-yes
fi
for node in "$@"; do waits_for "a complete cluster at $node" serves "$node"; done
echo "create-cluster: $# nodes serve all slots"
