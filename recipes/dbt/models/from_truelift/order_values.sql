-- Orders and amounts by variant, by the assignment that Truelift counted.
SELECT
  visitors.variant_name AS variant,
  count(DISTINCT visitors.visitor_id) AS visitors,
  count(orders.order_number) AS orders,
  coalesce(sum(orders.amount), 0) AS amount
FROM {{ ref('visitors') }} AS visitors
LEFT JOIN {{ ref('orders') }} AS orders
  ON orders.customer = visitors.visitor_id AND orders.ordered_at >= visitors.first_exposed_at
GROUP BY visitors.variant_name
