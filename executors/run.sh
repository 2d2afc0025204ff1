#!/bin/sh
# Run the tasks of one VM of a plan, each core its own list (core-0.sh, core-1.sh, ...) in the planned order:
#
#     sh run.sh
#
# It may be called from anywhere; the commands run in the folder that it is called from. log.jsonl says what starts and
# ends when; the folder output/ has what the commands print. Called again, it does not run again what has ended with
# exit code 0; whatever failed or was cut off is run again. The exit code is 0 if all tasks are done, 1 if some are not,
# and 129, 130 or 143 if a signal stopped it.
set -u

case $0 in
/*) here=${0%/*} ;;
*) here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2 ;;
esac
log=$here/log.jsonl
state=$here/state
stopped=''
. "$here/vm.sh"

say() { printf '%s: %s\n' "$vm" "$*" >&2; }

# The time in `at`, in seconds since 1970. Where the system counts its uptime, in hundredths of a second, the driver asks
# the clock once, and no task costs a process for that: `clock` is the time at the uptime `since`.
hundredths() {
    read -r up _ </proc/uptime
    up=${up%.*}${up#*.}
}

has_uptime() { [ -r /proc/uptime ] && hundredths && [ "$up" -gt 100 ] 2>/dev/null; }

look_at_clock() {
    looks=0
    while
        hundredths
        since=$up
        clock=$(date +%s%N)
        case $clock in
        *[!0-9]*) clock=$(date +%s)00 ;;
        *) clock=${clock%???????} ;;
        esac
        hundredths
        looks=$((looks + 1))
        [ $((up - since)) -gt 2 ] && [ $looks -lt 10 ] # until nothing has come between
    do :; done
}

now() {
    if [ -z "$clock" ]; then
        at=$(date +%s)
        return
    fi
    hundredths
    at=$((clock + up - since))
    at=${at%??}.${at#"${at%??}"}
}

# A line is one write, so that those of several cores do not mix.
record() {
    now
    printf '{"at": %s, "event": %s}\n' "$at" "$1" >>"$log" || {
        say "cannot write $log; stopping"
        exit 2
    }
}

# Numbers of the tasks that have ended with exit code 0, on a core or on all ('[0-9]*').
done_numbers() {
    sed -n 's/^{"at": [0-9.]*, "event": "end", "core": '"$1"', "number": \([0-9]*\), .*"exit_code": 0}$/\1/p' "$log" |
        sort -n -u
}

# ---------------------------------------------------------------- one core: sh run.sh core 0 CLOCK SINCE

next_done() { read -r next <&3 || next=''; }

# A task is a session of its own where there is setsid, so that stopping it stops what it has started, too.
stop_child() {
    [ -z "$child" ] || kill -s TERM -- "-$child" 2>/dev/null || kill -s TERM "$child" 2>/dev/null
}

stop_here() { [ -z "$stopped" ] || exit 143; }

# task NUMBER FILE ID-AS-JSON ID COMMAND
task() {
    stop_here
    if [ "$1" = "$next" ]; then
        next_done
        return 0
    fi
    record '"start", "core": '"$core, \"number\": $1, \"task\": $3"
    # A signal may be lost on a child that has just been made: it looks for itself whether it is to stop.
    (
        [ ! -e "$state/stop" ] || exit 143
        SPOTBAG_VM=$vm SPOTBAG_CORE=$core SPOTBAG_TASK=$4 exec $session sh -c "$5"
    ) </dev/null >"$here/output/$2.out" 2>"$here/output/$2.err" 3<&- 4<&- &
    child=$!
    [ -z "$stopped" ] || stop_child
    wait "$child"
    code=$?
    [ -z "$stopped" ] || wait "$child"
    stop_here
    child=''
    record '"end", "core": '"$core, \"number\": $1, \"task\": $3, \"exit_code\": $code"
    [ "$code" -eq 0 ] || say "task $4 failed with exit code $code (see $here/output/$2.err)"
}

# tell NUMBER CORE ...: these cores wait for the end of this task.
tell() {
    : >"$state/ended-$1"
    shift
    for waiting; do poke "$state/mailbox-$waiting"; done
}

# Have a core that waits look again; opened like this, nobody needs to read it.
poke() {
    if [ -p "$1" ]; then echo 1<>"$1"; fi
}

poke_all() {
    for mailbox in "$state"/mailbox-*; do poke "$mailbox"; done
}

# wait_for NUMBER ...: the memory of the VM may not be enough for the next task before these have ended.
wait_for() {
    for number; do
        until [ -e "$state/ended-$number" ]; do
            stop_here
            all_alive
            if [ -p "$state/mailbox-$core" ]; then
                read -r poked <&4
            else
                sleep 0.1 2>/dev/null || sleep 1
            fi
        done
    done
}

# A core that was killed takes its list with it: nobody must wait for that.
all_alive() {
    look_for_killed
    [ -n "$killed" ] || return 0
    say "core $core stops: another one was killed, and it would wait for that"
    exit 1
}

look_for_killed() {
    killed=''
    for file in "$state"/core-*.pid; do
        if read -r pid 2>/dev/null <"$file" && ! kill -s 0 "$pid" 2>/dev/null && [ -e "$file" ]; then
            killed=$file
        fi
    done
}

run_core() {
    core=$1
    clock=$2
    since=$3
    child=''
    session=''
    if command -v setsid >/dev/null 2>&1; then session=setsid; fi
    # Interrupts and hang-ups are for the driver, which then sends this signal.
    trap '' INT HUP
    trap 'stopped=yes; stop_child' TERM
    echo $$ >"$state/core-$core.pid"
    [ ! -e "$state/stop" ] || exit 143
    if [ -p "$state/mailbox-$core" ]; then exec 4<>"$state/mailbox-$core"; fi
    if [ -e "$state/again" ]; then done_numbers "$core" >"$state/done-$core"; else : >"$state/done-$core"; fi
    exec 3<"$state/done-$core"
    next_done
    . "$here/core-$core.sh"
    rm -f "$state/core-$core.pid"
}

# ---------------------------------------------------------------- all cores: sh run.sh

stop() {
    stopped=$1
    : >"$state/stop"
    for file in "$state"/core-*.pid; do
        if read -r pid 2>/dev/null <"$file"; then kill -s TERM "$pid" 2>/dev/null; fi
    done
    poke_all
}

# While cores run, look now and then whether one was killed that others wait for.
watch_cores() {
    while sleep 2; do
        [ -n "$(ls "$state"/core-*.pid 2>/dev/null)" ] || return 0
        look_for_killed
        if [ -n "$killed" ]; then
            poke_all
            return 0
        fi
    done
}

# Whatever runs here holds the lock, tasks included; when the last of it has ended, it is free.
take_lock() {
    command -v flock >/dev/null 2>&1 || return 0
    exec 9>>"$here/lock"
    flock -n 9 && return 0
    say "waiting for the end of what an earlier start still runs"
    flock 9
}

start_cores() {
    if parallel --version 2>/dev/null </dev/null | grep -q '^GNU parallel'; then
        # shellcheck disable=SC2086,SC2016
        SPOTBAG_RUN=$here/run.sh PARALLEL_SHELL=$(command -v sh) parallel --plain --will-cite --ungroup \
            --jobs "$n_cores" 'sh "$SPOTBAG_RUN" core {}' "'$clock' '$since'" ::: $cores </dev/null &
        return
    fi
    for core in $cores; do
        sh "$here/run.sh" core "$core" "$clock" "$since" &
    done
}

run_all() {
    take_lock
    rm -rf "$state"
    mkdir -p "$state" "$here/output" || exit 2
    if [ -s "$log" ]; then
        : >"$state/again"
        # A line that was cut short stays alone.
        if [ -n "$(tail -c 1 "$log")" ]; then echo >>"$log"; fi
    fi
    trap 'stop 129' HUP
    trap 'stop 130' INT
    trap 'stop 143' TERM
    if [ "$waits" -gt 0 ]; then
        for core in $cores; do mkfifo "$state/mailbox-$core" 2>/dev/null; done
        # No child of the driver, which waits for its children, and without the lock.
        (
            exec </dev/null >/dev/null 2>&1 9>&-
            watch_cores &
        )
    fi
    clock=''
    since=''
    if has_uptime; then look_at_clock; fi
    record '"begin", "format": "spotbag.log/1", "vm": '"$vm_json"
    start_cores
    until wait; do :; done
    done=$(done_numbers '[0-9]*' | wc -l)
    done=$((done))
    if [ -n "$stopped" ]; then
        record '"stop"'
        say "stopped: $done of $tasks tasks are done; start it again to go on"
        exit "$stopped"
    fi
    record '"finish"'
    if [ "$done" -lt "$tasks" ]; then
        say "$done of $tasks tasks are done; start it again to run the others once more"
        exit 1
    fi
    say "all $tasks tasks are done"
}

if [ "${1-}" = core ]; then
    shift
    run_core "$@"
else
    run_all
fi
