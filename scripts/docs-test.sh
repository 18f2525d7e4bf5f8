#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Runs the commands of the documentation, page by page, in the current directory: the root of a clone. `make docs-test` makes the clone.
# It is for Linux: it needs bash 4, GNU sed and setsid.
#
#   scripts/docs-test.sh [PAGE…]      (default: every page that has commands)
#
# A block of `sh` is run command by command, in one shell for each page: each command must succeed. In a block of `console`, each line
# that begins with `$ ` is run, and its output must be what the lines after it show. There, `…` stands for any text, a date
# matches any date, and runs of blanks are equal.
#
# `Tests/Support/DocumentationCommands/PAGE.sh`, named after the page's file, says what the page needs. It may call these functions:
#   replace EXPRESSION            changes each command and each output by a sed expression, before the command runs
#   background PATTERN PORT       a command that matches does not end: the next one runs when the port accepts connections
#   skip PATTERN REASON           a command that matches is not run; the summary names it
#   origin PORT                   starts an HTTP server with example responses
#   file NAME                     prints the block of the page that begins with a comment with that name
# HTTPCACHE_BIN is the folder of `httpcache` (default: .build/release, where it is built if it is missing).
set -uo pipefail

root=$PWD
support=$root/Tests/Support/DocumentationCommands
bin=${HTTPCACHE_BIN:-$root/.build/release}
export PATH=$bin:$PATH LC_ALL=C.UTF-8
work=$(mktemp -d)
processes=()

install_tools() {
  missing=
  for tool in python3 curl; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
  [ -z "$missing" ] && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing:$missing; install them, then run this again" >&2
    exit 1
  fi
  # shellcheck disable=SC2086 # one word for each package
  DEBIAN_FRONTEND=noninteractive apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
}

# A command in the background has a process group, which may have more than one process.
stop() { kill -- "-$1" 2>/dev/null || kill "$1" 2>/dev/null; }

stop_processes() {
  for process in "${processes[@]}"; do stop "$process"; done
  processes=()
}

trap 'stop_processes; rm -rf "$work"' EXIT

accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Waits at most 30 seconds.
await_port() {
  for _ in $(seq 300); do
    accepts "$1" && return
    sleep 0.1
  done
  echo "nothing listens at port $1" >&2
  return 1
}

# Stops what the page started on the port, so that its next command can listen there.
await_free_port() {
  for _ in $(seq 300); do
    accepts "$1" || return 0
    sleep 0.1
  done
  echo "port $1 is in use: stop what listens there" >&2
  return 1
}

replace() { replacements+=(-e "$1"); }
adapt() { sed -e '' "${replacements[@]}" "${port_replacements[@]}" "$@"; }
skip() { skip_patterns+=("$1"); skip_reasons+=("$2"); }
background() { background_patterns+=("$1"); background_ports+=("${ports[$2]:-$2}"); }
origin() {
  local port=${ports[$1]:-$1}
  python3 "$support/origin.py" "$port" 2>/dev/null &
  processes+=($!)
  await_port "$port"
}

# The pages use three ports. Where another program has one of them, the commands get another.
choose_ports() {
  local port free
  declare -gA ports=()
  port_replacements=()
  for port in 8000 8080 9090; do
    free=$port
    while accepts "$free"; do free=$((free + 1000)); done
    ports[$port]=$free
    [ "$free" = "$port" ] || port_replacements+=(-e "s/\\b$port\\b/$free/g")
  done
  [ "${ports[8080]}" = 8080 ] || port_replacements+=(-e "/--listen/!s/httpcache proxy/& --listen 127.0.0.1:${ports[8080]}/")
}

# Prints the block of the page whose first line names a file, as in `# /etc/httpcache.yaml`.
file() {
  awk -v name="$1" '/^```/ { inside = !inside; first = inside; wanted = 0; next }
    first { first = 0; wanted = index($0, "# ") == 1 && index($0, name) }
    wanted' "$root/$page" | adapt
}

# What two runs may differ in is made equal: dates, runs of blanks, and lifetimes by the second or two between two commands.
normalise() {
  sed -E -e 's/ttl=359[89]/ttl=3600/; s/ttl=5[89];/ttl=60;/; s/ttl=-24[12]/ttl=-240/' -e 's/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT/DATE/g' -e 's/[[:space:]]+/ /g' -e 's/ $//'
}

# Whether an output ($2) is what the page shows ($1).
matches() {
  local shown actual
  shown=$(normalise <<<"$1" | sed -e 's/[][\\*?]/\\&/g' -e 's/…/*/g')
  actual=$(normalise <<<"$2")
  # shellcheck disable=SC2053 # the page's text is a pattern
  [[ $actual == $shown ]]
}

# Runs one command of a page: $1 is where it stands, $2 the kind of its block. Standard input is the command, and descriptor 3 the
# output that the page shows.
step() {
  local place=$1 kind=$2 command shown status index output=$work/output
  command=$(cat)
  shown=$(cat <&3)
  command=$(adapt <<<"$command")
  shown=$(adapt <<<"$shown")
  for index in "${!skip_patterns[@]}"; do
    if [[ $command =~ ${skip_patterns[$index]} ]]; then
      report – "$place" "$command (not run: ${skip_reasons[$index]})"
      return
    fi
  done
  for index in "${!background_patterns[@]}"; do
    if [[ $command =~ ${background_patterns[$index]} ]]; then
      local port=${background_ports[$index]}
      # The page starts it a second time.
      [ -n "${background_processes[$port]:-}" ] && stop "${background_processes[$port]}"
      await_free_port "$port" || exit 1
      output=$work/background.$port
      setsid bash -c "${command%&}" >"$output" 2>&1 </dev/null &
      background_processes[$port]=$!
      processes+=($!)
      if await_port "$port"; then report ✔ "$place" "$command"; else report ✘ "$place" "$command" "$(cat "$output")"; fi
      return
    fi
  done
  eval "$command" >"$output" 2>&1 </dev/null
  status=$?
  if [ "$kind" = console ]; then
    if matches "$shown" "$(cat "$output")"; then
      report ✔ "$place" "$command"
    else
      report ✘ "$place" "$command" "$(diff --text <(normalise <<<"$shown") <(normalise <"$output"))"
    fi
  elif [ $status -eq 0 ]; then
    report ✔ "$place" "$command"
  else
    report ✘ "$place" "$command" "status $status"$'\n'"$(tail -20 "$output")"
  fi
}

# Prints a result (✔, ✘, or – for a command that was not run), the place, the command's first line, and the details of a failure.
report() {
  echo "$1" >>"$work/results"
  echo "$1 $2: ${3%%$'\n'*}"
  [ -z "${4:-}" ] || sed 's/^/    /' <<<"$4"
}

# Copies an example file of a tutorial to where the tutorial says that it is.
add_file() {
  mkdir -p "$(dirname "$2")"
  adapt "$1" >"$2"
}

# The commands of a tutorial: its terminal sessions, and the files that it shows.
tutorial_steps() {
  local resources name resource
  resources=$(dirname "$1")/Resources
  sed -nE 's/.*@Code\(name: "([^"]*)", file: "([^"]*)"\).*/\1 \2/p' "$1" | while read -r name resource; do
    case $resource in
      *.console) steps "$resources/$resource" console ;;
      *) echo "add_file '$root/$resources/$resource' '$name'" ;;
    esac
  done
}

# The commands of a page, as calls of `step`. The whole file is a block where its kind is given.
steps() {
  awk -v page="$1" -v kind="${2:-}" '
    function flush() {
      if (command == "") return
      printf "step %s:%d %s <<\047COMMAND\047 3<<\047SHOWN\047\n%sCOMMAND\n%sSHOWN\n", page, line, kind, command, shown
      command = shown = ""
    }
    /^```(sh|console)$/ { kind = substr($0, 4); next }
    /^```$/ && kind != "" { flush(); kind = ""; next }
    kind == "console" && /^\$ / { flush(); line = NR; command = substr($0, 3) "\n"; next }
    kind == "console" { shown = shown $0 "\n"; next }
    kind == "sh" {
      if (command == "" && ($0 == "" || $0 ~ /^#/)) next
      if (command == "") line = NR
      command = command $0 "\n"
      # A command ends with its line, unless a backslash continues it.
      if ($0 !~ /\\$/) flush()
    }
    END { flush() }' "$1"
}

run_page() {
  local page=$1 name
  name=$(basename "${page%.*}")
  trap stop_processes EXIT
  replacements=() skip_patterns=() skip_reasons=() background_patterns=() background_ports=()
  declare -gA background_processes=()
  cd "$root" || exit 1
  choose_ports
  # shellcheck source=/dev/null
  [ -f "$support/$name.sh" ] && . "$support/$name.sh"
  # shellcheck source=/dev/null
  . <(cd "$root" && if [ "${page##*.}" = tutorial ]; then tutorial_steps "$page"; else steps "$page"; fi)
}

pages=("$@")
if [ $# -eq 0 ]; then
  mapfile -t pages < <(git ls-files '*.md' '*.tutorial' | xargs grep -lE '^```(sh|console)$|@Code' | LC_ALL=C sort -f)
  # The README comes first, as its reader does.
  mapfile -t pages < <(printf 'README.md\n'; printf '%s\n' "${pages[@]}" | grep -vx README.md)
fi

install_tools
for page in "${pages[@]}"; do
  case $page in
    README.md) ;;
    *) [ -x "$bin/httpcache" ] || swift build -c release --enable-all-traits --product httpcache || exit 1 ;;
  esac
  # A shell for each page, so that nothing of one page is left for the next.
  (run_page "$page") || report ✘ "$page" "the page" "stopped"
done

# A target of make that a page names exists.
for target in $(git ls-files '*.md' | xargs grep -ohE '`make [a-z][a-z-]*' | sed 's/.*make //' | sort -u); do
  if make -n "$target" >/dev/null 2>&1; then report ✔ Makefile "make $target"; else report ✘ Makefile "make $target" "no such target"; fi
done

count() { grep -c "$1" "$work/results"; }
echo "$(count ✔) commands passed, $(count –) were not run, $(count ✘) failed"
[ "$(count ✘)" -eq 0 ]
