-- A row for each customer and variant of a test: when the customer saw it first.
SELECT customer, test, variant, min(viewed_at) AS first_seen_at, arg_min(country, viewed_at) AS country
FROM {{ source('shop', 'page_views') }}
WHERE test IS NOT NULL
GROUP BY customer, test, variant
