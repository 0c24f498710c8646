#!/bin/sh
# Imports every described source, if there is any, and checks and counts as each night: sh nightly.sh DATA_FOLDER
#
# Prints only what has to be read, so that cron sends no other mail.
# Exit status: 0 done, 3 a result differed from its events and was counted anew, 4 failed.
set -u
data_dir=${1:?usage: nightly.sh DATA_FOLDER}
report=$(mktemp) || exit 4
trap 'rm -f "$report"' EXIT

failed=0
set -- "$data_dir"/sources/*.toml
if [ -e "$1" ] && ! truelift import --data-dir "$data_dir" >"$report" 2>&1; then
  echo "A source was not imported; verdicts that need it wait:"
  cat "$report"
  failed=4
fi

truelift rollup --night --data-dir "$data_dir" >"$report" 2>&1
status=$?
case $status in
  0) ;;
  3) echo "A result differed from its events, and was counted anew:" && cat "$report" ;;
  *) echo "The count failed with exit status $status:" && cat "$report" ;;
esac
[ "$failed" -eq 0 ] || exit "$failed"
exit "$status"
