#!/bin/sh
# Builds tables by dbt, imports and counts them, and builds what uses the results:
# sh nightly.sh DATA_FOLDER EXPERIMENT
#
# EXPERIMENT is the name of a test in the store's only project. SHOP_FILES is the folder of the shop's
# files, SHOP_WAREHOUSE its DuckDB file. Exit status: that of the first command that fails.
set -eu
usage="usage: nightly.sh DATA_FOLDER EXPERIMENT"
data_dir=${1:?$usage}
experiment=${2:?$usage}
recipe=$(dirname "$0")

build() {
  dbt --quiet build --project-dir "$recipe" --profiles-dir "$recipe" --vars "experiment: \"$experiment\"" --select "$1"
}

build models/for_truelift
truelift import --data-dir "$data_dir"
truelift rollup --data-dir "$data_dir"
truelift snapshot --data-dir "$data_dir"

for snapshot in "$data_dir"/snapshots/*/; do
  export SHOP_SNAPSHOT="${snapshot%/}"
done
build models/from_truelift
