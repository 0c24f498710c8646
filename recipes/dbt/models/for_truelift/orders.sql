-- Each order once, with its amount in the currency of the project.
SELECT order_number, customer, ordered_at, amount
FROM {{ source('shop', 'orders') }}
WHERE amount > 0
