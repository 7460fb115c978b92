#!/bin/sh
# Serves 10,000 small files with pathwalk, with tokio::fs, and with one blocking hop a request, and drives each with wrk in alternating rounds.
# Prints requests a second, medians of the rounds, and pathwalk's ratio to each of the others.
#
#   sh crates/pathwalk-serve/race.sh [ROUNDS] [SECONDS]
#
# Needs wrk (apt install wrk), and the program: cargo build --release -p pathwalk-serve.
set -eu
rounds=${1:-5}
seconds=${2:-3}
server=${CARGO_TARGET_DIR:-target}/release/pathwalk-serve
command -v wrk > /dev/null || { echo "race.sh: there is no wrk: apt install wrk" >&2; exit 2; }
[ -x "$server" ] || { echo "race.sh: no \"$server\": cargo build --release -p pathwalk-serve" >&2; exit 2; }

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/pathwalk-race-XXXXXX")
servers=
trap 'kill $servers 2> /dev/null || true; rm -rf "$dir"' EXIT INT TERM

# 100 directories of 100 files of 1 KiB.
mkdir "$dir/www"
head -c 768 /dev/urandom | base64 -w 0 > "$dir/text"
d=0
while [ $d -lt 100 ]; do
    mkdir "$dir/www/d$d"
    (cd "$dir/www/d$d" && tee $(seq -f 'f%.0f.txt' 0 99) < "$dir/text" > /dev/null)
    d=$((d + 1))
done
cat > "$dir/names.lua" <<'END'
local n = 0
function init(args) n = tonumber(args[1]) end
-- All files, in an order that jumps about: 7919 is a prime.
function request()
    n = (n + 7919) % 10000
    return wrk.format("GET", "/d" .. math.floor(n / 100) .. "/f" .. n % 100 .. ".txt")
end
END

# Starts a server, and waits until it tells its address.
start() {
    "$server" "$dir/www" --listen 127.0.0.1:0 --with "$1" > "$dir/$1.address" &
    servers="$servers $!"
    while [ ! -s "$dir/$1.address" ]; do sleep 0.05; done
}

# Requests a second of one round; anything but 2xx and 3xx ends the race.
round() {
    wrk -t 1 -c 16 -d "$2" -s "$dir/names.lua" "$(cat "$dir/$1.address")" -- 1 > "$dir/out"
    if grep -q 'Non-2xx\|Socket errors' "$dir/out"; then cat "$dir/out" >&2; exit 1; fi
    awk '/^Requests\/sec:/ { print $2 }' "$dir/out"
}

sides="pathwalk tokio-fs one-hop"
for side in $sides; do
    start $side
    round $side 1 > /dev/null # Caches are warm afterwards, the kernel's for all of them.
done
i=0
while [ $i -lt "$rounds" ]; do
    for side in $sides; do round $side "$seconds" >> "$dir/$side.rounds"; done
    i=$((i + 1))
    echo "round $i of $rounds" >&2
done
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
for side in $sides; do printf '%-10s %10.0f requests a second\n' $side "$(median < "$dir/$side.rounds")"; done
for side in tokio-fs one-hop; do
    ratio=$(paste "$dir/pathwalk.rounds" "$dir/$side.rounds" | awk '{ print $1 / $2 }' | median)
    printf 'pathwalk over %-10s %.2f times\n' $side "$ratio"
done
