-- The visitors of a test as Truelift counted them, to be joined with what else the warehouse knows.
SELECT visitors.*
FROM read_parquet('{{ snapshot_path(var("experiment"), "visitors") }}') AS visitors
