{# Path of an experiment's Parquet file (`visitors`, `orders` or `aggregates`), which the newest manifest names. #}
{% macro snapshot_path(experiment, kind) %}
  {% if execute %}
    {% set query %}
      SELECT one.{{ kind }}.path
      FROM (SELECT unnest(experiments) AS one FROM {{ source('truelift', 'manifest') }})
      WHERE one.name = '{{ experiment | replace("'", "''") }}'
    {% endset %}
    {% set paths = run_query(query).columns[0].values() %}
    {% if paths | length != 1 %}
      {{ exceptions.raise_compiler_error("The snapshot has " ~ paths | length ~ " experiments named " ~ experiment) }}
    {% endif %}
    {{ return(env_var('SHOP_SNAPSHOT') ~ '/' ~ paths[0]) }}
  {% endif %}
{% endmacro %}
