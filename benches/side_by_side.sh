#!/usr/bin/env bash
# Times cxfw and mstflint on the same image files: best of several runs each, and the ratio.
#
#     benches/side_by_side.sh CXFW FILE...
#
# A file mstflint cannot open is said to be one and not compared.
set -euo pipefail

cxfw="${1:?usage: side_by_side.sh CXFW FILE...}"
shift
runs="${RUNS:-7}"

# Best wall time of a command in microseconds.
best() {
    local least='' start end took
    for _ in $(seq "$runs"); do
        start="${EPOCHREALTIME/./}"
        "$@" >/dev/null 2>&1 || true
        end="${EPOCHREALTIME/./}"
        took=$((end - start))
        if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least="$took"; fi
    done
    echo "$least"
}

# The exit code of a command.
verdict() {
    local code=0
    "$@" >/dev/null 2>&1 || code=$?
    echo "$code"
}

printf '%-32s %10s %10s %7s  %s\n' FILE 'cxfw us' 'mstflint us' ratio verdicts
for file in "$@"; do
    name="$(basename "$file")"
    ours="$(best "$cxfw" verify "$file")"
    asked="$(mstflint -i "$file" q 2>&1 || true)"
    if [[ "$asked" == *'No valid image found'* ]]; then
        printf '%-32s %10d  mstflint cannot open it\n' "$name" "$ours"
        continue
    fi
    theirs="$(best mstflint -i "$file" verify)"
    ratio="$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.1f", a / b }')"
    codes="$(verdict "$cxfw" verify "$file") / $(verdict mstflint -i "$file" verify)"
    printf '%-32s %10d %10d %7s  %s\n' "$name" "$ours" "$theirs" "$ratio" "$codes"
done
