# Marks in the output of a command line where each of its commands begins, and which command ended
# it. bash evaluates this text before the command line. `agents.runs.shell_marks` reads the
# marks, which begin with $fettle__mark. They go to file descriptor 3, because `set -x` may write to 2.
mkdir -p .scratch 2>/dev/null || :  # prompts name it, so that commands can write to it
declare -A fettle__seen=()
fettle__steps=0 fettle__quiet='' fettle__strict='' fettle__line=1 fettle__command='' fettle__last=''
fettle__streams=$(readlink "/proc/$$/fd/1" "/proc/$$/fd/2" || :)

# Whether the output goes where that of the whole command line goes, and not into a file.
fettle__unredirected() {
  [[ $fettle__streams && $(readlink "/proc/$$/fd/1" "/proc/$$/fd/3") == "$fettle__streams" ]]
}

# Before each command outside of functions: mark the place in the output when it begins for the
# first time. 60 marks are enough.
fettle__step() { # line, command, $_
  fettle__last=$3
  [[ -z $fettle__strict ]] || { fettle__strict='' && set -e; }
  [[ $2 != *fettle__* && $BASH_SUBSHELL == 0 ]] || return 0
  fettle__line=$1 fettle__command=$2
  (( ++fettle__steps < 2000 )) || fettle__quiet=1
  [[ -z ${fettle__seen["$1 $2"]-} && ${#fettle__seen[@]} -lt 60 ]] || return 0
  fettle__seen["$1 $2"]=1
  fettle__unredirected || return 0
  printf '%s step %s\037' "$fettle__mark" "$1"
  printf '%s step %s\037' "$fettle__mark" "$1" >&3
}

# After a command that failed, just before `set -e` ends the shell. A program that SIGPIPE has ended
# did not fail: the rest of its output was not wanted, as in `... | head`.
fettle__failed() { # line, command, $?, status of each part of the pipeline
  [[ -z $fettle__strict ]] || { fettle__strict='' && set -e; }
  [[ $- == *e* ]] || return 0
  local status line=$1 command=$2 end=$3 last=0
  shift 3
  for status; do [[ $status == 0 ]] || last=$status; done
  # `[[ ]]` and `(( ))` leave the parts of the pipeline before.
  [[ $last == "$end" ]] || set -- "$end"
  [[ $command != *fettle__* ]] || line=$fettle__line command=$fettle__command
  for status; do
    [[ $status != 0 && $status != 141 ]] || continue
    [[ $BASH_SUBSHELL == 0 ]] && fettle__unredirected || return 0
    printf '%s failed %s\n%s\037' "$fettle__mark" "$line $*" "$command" >&3
    return 0
  done
  fettle__strict=1
  set +e
  [[ -z $fettle__quiet ]] || { fettle__quiet='' && trap "$fettle__debug" DEBUG; }
}

# bash counts lines from the beginning of a trap, so each has `$LINENO` in its first line.
fettle__on_error='{ fettle__failed "$LINENO" "$BASH_COMMAND" "$?" "${PIPESTATUS[@]}"; }'
fettle__debug='{ if [[ ! $fettle__quiet ]]; then fettle__step "$LINENO" "$BASH_COMMAND" "$_"
: "$fettle__last"; else trap - DEBUG; fi; } 3>&2 2>/dev/null'
trap "$fettle__on_error 3>&2 2>/dev/null" ERR
trap "$fettle__debug" DEBUG
