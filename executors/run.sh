#!/bin/sh
# Run the tasks of one VM of a plan, each core its own list (core-0.sh, core-1.sh, ...) in the planned order:
#
#     sh run.sh
#
# It may be called from anywhere; the commands run in the folder that it is called from. log.jsonl says what starts and
# ends when; the folder output/ has what the commands print. Called again, it does not run again what has ended with
# exit code 0; whatever failed or was cut off is run again. The exit code is 0 if all tasks are done, 1 if some are not,
# and 129, 130 or 143 if a signal stopped it.
#
# Variables and functions begin with spotbag_: where a shell changes what is exported to it, all commands get that, and
# these are to find what their user has exported.
set +a -u

case $0 in
/*) spotbag_here=${0%/*} ;;
*) spotbag_here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2 ;;
esac
spotbag_log=$spotbag_here/log.jsonl
spotbag_state=$spotbag_here/state
spotbag_stopped=''
. "$spotbag_here/vm.sh"

# Names are said with the escapes that they have in JSON: a terminal is not to obey what stands in them.
spotbag_say() {
    spotbag_name=${spotbag_vm_json#?}
    printf '%s: %s\n' "${spotbag_name%?}" "$*" >&2
}

# The time in `spotbag_at`, in seconds since 1970. Where the system counts its uptime, in hundredths of a second, the
# driver asks the clock once, and no task costs a process for that: `spotbag_clock` is the time at `spotbag_since`.
spotbag_hundredths() {
    read -r spotbag_up spotbag_rest </proc/uptime
    spotbag_up=${spotbag_up%.*}${spotbag_up#*.}
}

spotbag_has_uptime() { [ -r /proc/uptime ] && spotbag_hundredths && [ "$spotbag_up" -gt 100 ] 2>/dev/null; }

spotbag_look_at_clock() {
    spotbag_looks=0
    while
        spotbag_hundredths
        spotbag_since=$spotbag_up
        spotbag_clock=$(date +%s%N)
        case $spotbag_clock in
        *[!0-9]*) spotbag_clock=$(date +%s)00 ;;
        *) spotbag_clock=${spotbag_clock%???????} ;;
        esac
        spotbag_hundredths
        spotbag_looks=$((spotbag_looks + 1))
        [ $((spotbag_up - spotbag_since)) -gt 2 ] && [ $spotbag_looks -lt 10 ] # until nothing has come between
    do :; done
}

spotbag_now() {
    if [ -z "$spotbag_clock" ]; then
        spotbag_at=$(date +%s)
        return
    fi
    spotbag_hundredths
    spotbag_at=$((spotbag_clock + spotbag_up - spotbag_since))
    spotbag_at=${spotbag_at%??}.${spotbag_at#"${spotbag_at%??}"}
}

# A line is one write, so that those of several cores do not mix.
spotbag_record() {
    spotbag_now
    printf '{"at": %s, "event": %s}\n' "$spotbag_at" "$1" >>"$spotbag_log" || {
        spotbag_say 'cannot write log.jsonl; stopping'
        exit 2
    }
}

# Numbers of the tasks that have ended with exit code 0, on a core or on all ('[0-9]*').
spotbag_done_numbers() {
    sed -n 's/^{"at": [0-9.]*, "event": "end", "core": '"$1"', "number": \([0-9]*\), .*"exit_code": 0}$/\1/p' \
        "$spotbag_log" | sort -n -u
}

# ---------------------------------------------------------------- one core: sh run.sh core 0 CLOCK SINCE ZERO

spotbag_next_done() { read -r spotbag_next <&3 || spotbag_next=''; }

# A task is a session of its own where there is setsid, so that stopping it stops what it has started, too.
spotbag_stop_child() {
    [ -z "$spotbag_child" ] || kill -s TERM -- "-$spotbag_child" 2>/dev/null ||
        kill -s TERM "$spotbag_child" 2>/dev/null
}

spotbag_stop_here() { [ -z "$spotbag_stopped" ] || exit 143; }

# The last of what a command said, as the inside of a text in JSON; whatever is no printable ASCII is left out.
spotbag_last_words() {
    tail -c 500 "$1" 2>/dev/null | LC_ALL=C tr -cd '\012\040-\176' | sed 's/[\\"]/\\&/g' |
        awk '{ printf "%s%s", between, $0; between = "\\n" }' 2>/dev/null
}

# spotbag_task NUMBER FILE ID-AS-JSON ID COMMAND [CORES]
spotbag_task() {
    spotbag_stop_here
    if [ "$1" = "$spotbag_next" ]; then
        spotbag_next_done
        return 0
    fi
    spotbag_record '"start", "core": '"$spotbag_core, \"number\": $1, \"task\": $3"
    # A signal may be lost on a child that has just been made: it looks for itself whether it is to stop.
    (
        [ ! -e "$spotbag_state/stop" ] || exit 143
        export SPOTBAG_VM="$spotbag_vm" SPOTBAG_CORE="$spotbag_core" SPOTBAG_CORES="${6-$spotbag_core}" SPOTBAG_TASK="$4"
        # shellcheck disable=SC2086
        set -- $spotbag_session sh -c -- "$5"
        # shellcheck disable=SC2086
        [ -z "$spotbag_exported" ] || unset $spotbag_exported
        exec "$@"
    ) </dev/null >"$spotbag_here/output/$2.out" 2>"$spotbag_here/output/$2.err" 3<&- 4<&- &
    spotbag_child=$!
    [ -z "$spotbag_stopped" ] || spotbag_stop_child
    wait "$spotbag_child"
    spotbag_code=$?
    [ -z "$spotbag_stopped" ] || wait "$spotbag_child"
    # A child that has seen that it is to stop may be gone before the signal to stop is here.
    if [ "$spotbag_code" -eq 143 ] && [ -e "$spotbag_state/stop" ]; then spotbag_stopped=yes; fi
    spotbag_stop_here
    spotbag_child=''
    spotbag_end='"end", "core": '"$spotbag_core, \"number\": $1, \"task\": $3, \"exit_code\": $spotbag_code"
    if [ "$spotbag_code" -eq 0 ]; then
        spotbag_record "$spotbag_end"
        return 0
    fi
    spotbag_record "$spotbag_end, \"message\": \"$(spotbag_last_words "$spotbag_here/output/$2.err")\""
    spotbag_name=${3#?}
    spotbag_say "task ${spotbag_name%?} failed with exit code $spotbag_code (see output/$2.err)"
}

# spotbag_tell NUMBER CORE ...: these cores wait for the end of this task.
spotbag_tell() {
    : >"$spotbag_state/ended-$1"
    shift
    for spotbag_waiting; do spotbag_poke "$spotbag_state/mailbox-$spotbag_waiting"; done
}

# Have a core that waits look again; opened like this, nobody needs to read it.
spotbag_poke() {
    if [ -p "$1" ]; then echo 1<>"$1"; fi
}

spotbag_poke_all() {
    for spotbag_mailbox in "$spotbag_state"/mailbox-*; do spotbag_poke "$spotbag_mailbox"; done
}

# spotbag_wait_for NUMBER ...: the memory of the VM may not be enough for the next task before these have ended.
spotbag_wait_for() {
    for spotbag_number; do
        until [ -e "$spotbag_state/ended-$spotbag_number" ]; do
            spotbag_stop_here
            spotbag_all_alive
            if [ -p "$spotbag_state/mailbox-$spotbag_core" ]; then
                read -r spotbag_poked <&4
            else
                sleep 0.1 2>/dev/null || sleep 1
            fi
        done
    done
}

# spotbag_wait_until SECONDS: the next task is released then, in seconds from when the plan began.
spotbag_wait_until() {
    while
        spotbag_stop_here
        spotbag_now
        spotbag_left=$((spotbag_zero + $1 - ${spotbag_at%.*}))
        [ "$spotbag_left" -gt 0 ]
    do
        # A signal may be lost on a child that has just been made: then it is looked at soon.
        [ "$spotbag_left" -le 3 ] || spotbag_left=3
        sleep "$spotbag_left" 3<&- 4<&- 9>&- &
        spotbag_child=$!
        [ -z "$spotbag_stopped" ] || spotbag_stop_child
        wait "$spotbag_child"
        spotbag_child=''
    done
}

# A core that was killed takes its list with it: nobody must wait for that.
spotbag_all_alive() {
    spotbag_look_for_killed
    [ -n "$spotbag_killed" ] || return 0
    spotbag_say "core $spotbag_core stops: another one was killed, and it would wait for that"
    exit 1
}

spotbag_look_for_killed() {
    spotbag_killed=''
    for spotbag_file in "$spotbag_state"/core-*.pid; do
        if read -r spotbag_pid 2>/dev/null <"$spotbag_file" &&
            ! kill -s 0 "$spotbag_pid" 2>/dev/null && [ -e "$spotbag_file" ]; then
            spotbag_killed=$spotbag_file
        fi
    done
}

spotbag_run_core() {
    spotbag_core=$1
    spotbag_clock=$2
    spotbag_since=$3
    spotbag_zero=$4
    spotbag_child=''
    spotbag_exported=$(env | sed -n 's/^\(spotbag_[a-z_]*\)=.*/\1/p')
    spotbag_session=''
    if command -v setsid >/dev/null 2>&1; then spotbag_session=setsid; fi
    # Interrupts and hang-ups are for the driver, which then sends this signal.
    trap '' INT HUP
    trap 'spotbag_stopped=yes; spotbag_stop_child' TERM
    echo $$ >"$spotbag_state/core-$spotbag_core.pid"
    [ ! -e "$spotbag_state/stop" ] || exit 143
    if [ -p "$spotbag_state/mailbox-$spotbag_core" ]; then exec 4<>"$spotbag_state/mailbox-$spotbag_core"; fi
    : >"$spotbag_state/done-$spotbag_core"
    if [ -e "$spotbag_state/again" ]; then spotbag_done_numbers "$spotbag_core" >"$spotbag_state/done-$spotbag_core"; fi
    exec 3<"$spotbag_state/done-$spotbag_core"
    spotbag_next_done
    . "$spotbag_here/core-$spotbag_core.sh"
    rm -f "$spotbag_state/core-$spotbag_core.pid"
}

# ---------------------------------------------------------------- all cores: sh run.sh

spotbag_stop() {
    spotbag_stopped=$1
    : >"$spotbag_state/stop"
    for spotbag_file in "$spotbag_state"/core-*.pid; do
        if read -r spotbag_pid 2>/dev/null <"$spotbag_file"; then kill -s TERM "$spotbag_pid" 2>/dev/null; fi
    done
    spotbag_poke_all
}

# While cores run, look now and then whether one was killed that others wait for.
spotbag_watch_cores() {
    while sleep 2; do
        [ -n "$(ls "$spotbag_state"/core-*.pid 2>/dev/null)" ] || return 0
        spotbag_look_for_killed
        if [ -n "$spotbag_killed" ]; then
            spotbag_poke_all
            return 0
        fi
    done
}

# Whatever runs here holds the lock, tasks included; when the last of it has ended, it is free.
spotbag_take_lock() {
    command -v flock >/dev/null 2>&1 || return 0
    exec 9>>"$spotbag_here/lock"
    flock -n 9 && return 0
    spotbag_say "waiting for the end of what an earlier start still runs"
    flock 9
}

spotbag_start_cores() {
    for spotbag_core in $spotbag_cores; do
        sh "$spotbag_here/run.sh" core "$spotbag_core" "$spotbag_clock" "$spotbag_since" "$spotbag_zero" &
    done
}

# The second in which the plan began has passed at `spotbag_zero`: that is said by SPOTBAG_BEGAN_AT, in seconds since
# 1970, or else this VM began for the first time when it was to begin.
spotbag_find_zero() {
    spotbag_zero=${SPOTBAG_BEGAN_AT-}
    [ -n "$spotbag_zero" ] || spotbag_zero=$(($(sed -n '/^{"at": [0-9.]*, "event": "begin"/{
        s/^{"at": \([0-9]*\).*/\1/p
        q
    }' "$spotbag_log") - spotbag_ready_s))
    spotbag_zero=$((${spotbag_zero%.*} + 1))
}

spotbag_run_all() {
    # Before anything is recorded: a start that is refused has not begun.
    case ${SPOTBAG_BEGAN_AT-0} in
    '') ;;
    *[!0-9.]* | .* | *.*.*)
        spotbag_say "SPOTBAG_BEGAN_AT is '$SPOTBAG_BEGAN_AT': it must be when the plan began, in seconds since 1970"
        exit 2
        ;;
    esac
    spotbag_take_lock
    rm -rf "$spotbag_state"
    mkdir -p "$spotbag_state" "$spotbag_here/output" || exit 2
    if [ -s "$spotbag_log" ]; then
        : >"$spotbag_state/again"
        # A line that was cut short stays alone.
        if [ -n "$(tail -c 1 "$spotbag_log")" ]; then echo >>"$spotbag_log"; fi
    fi
    trap 'spotbag_stop 129' HUP
    trap 'spotbag_stop 130' INT
    trap 'spotbag_stop 143' TERM
    if [ "$spotbag_waits" -gt 0 ]; then
        for spotbag_core in $spotbag_cores; do mkfifo "$spotbag_state/mailbox-$spotbag_core" 2>/dev/null; done
        # No child of the driver, which waits for its children, and without the lock.
        (
            exec </dev/null >/dev/null 2>&1 9>&-
            spotbag_watch_cores &
        )
    fi
    spotbag_clock=''
    spotbag_since=''
    if spotbag_has_uptime; then spotbag_look_at_clock; fi
    spotbag_record '"begin", "format": "spotbag.log/1", "vm": '"$spotbag_vm_json"
    spotbag_find_zero
    spotbag_start_cores
    until wait; do :; done
    spotbag_done=$(spotbag_done_numbers '[0-9]*' | wc -l)
    spotbag_done=$((spotbag_done))
    if [ -n "$spotbag_stopped" ]; then
        spotbag_record '"stop"'
        spotbag_say "stopped: $spotbag_done of $spotbag_tasks tasks are done; start it again to go on"
        exit "$spotbag_stopped"
    fi
    spotbag_record '"finish"'
    if [ "$spotbag_done" -lt "$spotbag_tasks" ]; then
        spotbag_say "$spotbag_done of $spotbag_tasks tasks are done; start it again to run the others once more"
        exit 1
    fi
    spotbag_say "all $spotbag_tasks tasks are done"
}

if [ "${1-}" = core ]; then
    shift
    spotbag_run_core "$@"
else
    spotbag_run_all
fi
