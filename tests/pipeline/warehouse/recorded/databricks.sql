WITH `truelift_exposure_rows` AS (
  SELECT
    CAST(`visitor` AS STRING) AS `visitor`,
    CAST(`arm` AS STRING) AS `variant_name`,
    CAST(UNIX_MICROS(CAST(`at` AS TIMESTAMP_LTZ)) AS BIGINT) AS `at`,
    NULLIF(CAST(`id` AS STRING), '') AS `event_id`,
    NULLIF(CAST(`country` AS STRING), '') AS `d0`,
    NULLIF(CAST(`plan` AS STRING), '') AS `d1`
  FROM `exposures`
  WHERE
    NOT CAST(`visitor` AS STRING) IS NULL
    AND NOT TRIM(CAST(`visitor` AS STRING)) IN ('', 'NaN', '[object Object]', 'null', 'undefined')
), `truelift_exposures_read` AS (
  SELECT
    `visitor`,
    CASE
      WHEN `variant_name` = 'Control'
      THEN CAST(0 AS BIGINT)
      WHEN `variant_name` = 'Treatment 1'
      THEN CAST(1 AS BIGINT)
      WHEN `variant_name` = 'var_0'
      THEN CAST(0 AS BIGINT)
      WHEN `variant_name` = 'var_1'
      THEN CAST(1 AS BIGINT)
      ELSE CAST(NULL AS BIGINT)
    END AS `variant`,
    `variant_name`,
    `at`,
    `event_id`,
    `d0`,
    `d1`
  FROM `truelift_exposure_rows`
), `truelift_exposures_read_ranked` AS (
  SELECT
    `visitor`,
    `variant`,
    `at`,
    `event_id`,
    `d0`,
    `d1`,
    ROW_NUMBER() OVER (PARTITION BY `event_id` ORDER BY `at`, `event_id`, `visitor`, `variant_name`) AS `copy`
  FROM `truelift_exposures_read`
), `truelift_exposures` AS (
  SELECT
    `visitor`,
    `variant`,
    `at`,
    `event_id`,
    `d0`,
    `d1`
  FROM `truelift_exposures_read_ranked`
  WHERE
    `copy` = 1 OR `event_id` IS NULL
), `truelift_ranked_exposures` AS (
  SELECT
    `visitor`,
    `variant`,
    `at`,
    `d0`,
    `d1`,
    ROW_NUMBER() OVER (PARTITION BY `visitor` ORDER BY `at`, `event_id`, `variant`, `d0`, `d1`) AS `place`,
    MIN(`variant`) OVER (PARTITION BY `visitor`) AS `lowest`,
    MAX(`variant`) OVER (PARTITION BY `visitor`) AS `highest`
  FROM `truelift_exposures`
  WHERE
    `at` BETWEEN 1772355600000000 AND 1772452800000000
    AND NOT `variant` IS NULL
    AND NOT `visitor` IS NULL
), `truelift_visitors_read` AS (
  SELECT
    `visitor`,
    CASE
      WHEN `lowest` < `highest`
      THEN CAST(255 AS BIGINT)
      ELSE CAST(`lowest` AS BIGINT)
    END AS `variant`,
    `at` AS `first_at`,
    CAST((
      `at` + CAST(-18000000000 AS BIGINT)
    ) DIV 86400000000 AS BIGINT) AS `first_day`,
    `d0`,
    `d1`,
    CASE
      WHEN (
        (
          CAST((
            `at` + CAST(-18000000000 AS BIGINT)
          ) DIV 86400000000 AS BIGINT) + 3
        ) % 7
      ) >= 5
      THEN CAST('weekend' AS STRING)
      ELSE CAST('weekday' AS STRING)
    END AS `weekend`
  FROM `truelift_ranked_exposures`
  WHERE
    `place` = 1
), `truelift_values_d0` AS (
  SELECT
    `value`,
    `visitors`,
    SUM(`visitors`) OVER (ORDER BY `visitors`, `value` ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS `running`,
    ROW_NUMBER() OVER (ORDER BY `visitors`, `value`) AS `place`,
    SUM(`visitors`) OVER () AS `everyone`
  FROM (
    SELECT
      `d0` AS `value`,
      SUM(CASE WHEN `variant` < 2 THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END) AS `visitors`
    FROM `truelift_visitors_read`
    WHERE
      NOT `d0` IS NULL
    GROUP BY
      `d0`
  ) AS counted
), `truelift_merged_d0` AS (
  SELECT
    `value`,
    CASE
      WHEN `everyone` < 5
      THEN CAST(NULL AS STRING)
      WHEN `visitors` < 5 OR (
        `place` > 1 AND (
          `running` - `visitors`
        ) < 5
      )
      THEN CAST('other' AS STRING)
      ELSE `value`
    END AS `merged`
  FROM `truelift_values_d0`
), `truelift_values_d1` AS (
  SELECT
    `value`,
    `visitors`,
    SUM(`visitors`) OVER (ORDER BY `visitors`, `value` ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS `running`,
    ROW_NUMBER() OVER (ORDER BY `visitors`, `value`) AS `place`,
    SUM(`visitors`) OVER () AS `everyone`
  FROM (
    SELECT
      `d1` AS `value`,
      SUM(CASE WHEN `variant` < 2 THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END) AS `visitors`
    FROM `truelift_visitors_read`
    WHERE
      NOT `d1` IS NULL
    GROUP BY
      `d1`
  ) AS counted
), `truelift_merged_d1` AS (
  SELECT
    `value`,
    CASE
      WHEN `everyone` < 5
      THEN CAST(NULL AS STRING)
      WHEN `visitors` < 5 OR (
        `place` > 1 AND (
          `running` - `visitors`
        ) < 5
      )
      THEN CAST('other' AS STRING)
      ELSE `value`
    END AS `merged`
  FROM `truelift_values_d1`
), `truelift_visitors` AS (
  SELECT
    `v`.`visitor` AS `visitor`,
    `v`.`variant` AS `variant`,
    `v`.`first_day` AS `first_day`,
    `v`.`first_at` AS `first_at`,
    `v`.`weekend` AS `weekend`,
    `m_d0`.`merged` AS `d0`,
    `m_d1`.`merged` AS `d1`
  FROM `truelift_visitors_read` AS v
  LEFT JOIN `truelift_merged_d0` AS m_d0
    ON `v`.`d0` = `m_d0`.`value`
  LEFT JOIN `truelift_merged_d1` AS m_d1
    ON `v`.`d1` = `m_d1`.`value`
), `truelift_events_read` AS (
  SELECT
    CAST(UNIX_MICROS(CAST(`at` AS TIMESTAMP_LTZ)) AS BIGINT) AS `at`,
    NULLIF(CAST(`id` AS STRING), '') AS `event_id`,
    CAST(`visitor` AS STRING) AS `visitor`,
    CAST('purchase' AS STRING) AS `name`,
    NULLIF(CAST(`txn` AS STRING), '') AS `transaction_id`,
    CAST(ABS(
      CAST(CASE
        WHEN ABS(
          (
            (
              CAST(`amount` AS DOUBLE) * CASE
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IS NULL
                THEN 100.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN (
                  'BIF',
                  'CLP',
                  'DJF',
                  'GNF',
                  'ISK',
                  'JPY',
                  'KMF',
                  'KRW',
                  'PYG',
                  'RWF',
                  'UGX',
                  'UYI',
                  'VND',
                  'VUV',
                  'XAF',
                  'XOF',
                  'XPF'
                )
                THEN 1.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND')
                THEN 1000.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('CLF', 'UYW')
                THEN 10000.0
                ELSE 100.0
              END
            ) - FLOOR(
              (
                CAST(`amount` AS DOUBLE) * CASE
                  WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IS NULL
                  THEN 100.0
                  WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN (
                    'BIF',
                    'CLP',
                    'DJF',
                    'GNF',
                    'ISK',
                    'JPY',
                    'KMF',
                    'KRW',
                    'PYG',
                    'RWF',
                    'UGX',
                    'UYI',
                    'VND',
                    'VUV',
                    'XAF',
                    'XOF',
                    'XPF'
                  )
                  THEN 1.0
                  WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND')
                  THEN 1000.0
                  WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('CLF', 'UYW')
                  THEN 10000.0
                  ELSE 100.0
                END
              )
            )
          )
        ) = 0.5
        THEN ROUND(
          (
            (
              CAST(`amount` AS DOUBLE) * CASE
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IS NULL
                THEN 100.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN (
                  'BIF',
                  'CLP',
                  'DJF',
                  'GNF',
                  'ISK',
                  'JPY',
                  'KMF',
                  'KRW',
                  'PYG',
                  'RWF',
                  'UGX',
                  'UYI',
                  'VND',
                  'VUV',
                  'XAF',
                  'XOF',
                  'XPF'
                )
                THEN 1.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND')
                THEN 1000.0
                WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('CLF', 'UYW')
                THEN 10000.0
                ELSE 100.0
              END
            )
          ) / 2.0
        ) * 2.0
        ELSE ROUND(
          (
            CAST(`amount` AS DOUBLE) * CASE
              WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IS NULL
              THEN 100.0
              WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN (
                'BIF',
                'CLP',
                'DJF',
                'GNF',
                'ISK',
                'JPY',
                'KMF',
                'KRW',
                'PYG',
                'RWF',
                'UGX',
                'UYI',
                'VND',
                'VUV',
                'XAF',
                'XOF',
                'XPF'
              )
              THEN 1.0
              WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND')
              THEN 1000.0
              WHEN UPPER(NULLIF(CAST(`currency` AS STRING), '')) IN ('CLF', 'UYW')
              THEN 10000.0
              ELSE 100.0
            END
          )
        )
      END AS BIGINT)
    ) AS BIGINT) AS `cents`,
    CAST(NULL AS DOUBLE) AS `value`,
    UPPER(NULLIF(CAST(`currency` AS STRING), '')) AS `currency`,
    CASE
      WHEN `amount` < 0
      THEN CAST(1 AS BIGINT)
      WHEN LOWER(TRIM(CAST(`refund` AS STRING))) IN ('1', 'true', 'yes', 't', 'y')
      THEN CAST(1 AS BIGINT)
      ELSE CAST(0 AS BIGINT)
    END AS `is_refund`,
    CAST(0 AS BIGINT) AS `is_plain`,
    CAST(NULL AS STRING) AS `url`,
    CAST(NULL AS STRING) AS `f0`
  FROM `orders`
  WHERE
    NOT CAST(`visitor` AS STRING) IS NULL
    AND NOT TRIM(CAST(`visitor` AS STRING)) IN ('', 'NaN', '[object Object]', 'null', 'undefined')
  UNION ALL
  SELECT
    CAST(UNIX_MICROS(CAST(`at` AS TIMESTAMP_LTZ)) AS BIGINT) AS `at`,
    NULLIF(CAST(`id` AS STRING), '') AS `event_id`,
    CAST(`visitor` AS STRING) AS `visitor`,
    CAST(`event` AS STRING) AS `name`,
    CAST(NULL AS STRING) AS `transaction_id`,
    CAST(NULL AS BIGINT) AS `cents`,
    CAST(`value` AS DOUBLE) AS `value`,
    UPPER(CAST(NULL AS STRING)) AS `currency`,
    CAST(0 AS BIGINT) AS `is_refund`,
    CAST(1 AS BIGINT) AS `is_plain`,
    CAST(NULL AS STRING) AS `url`,
    NULLIF(CAST(`page` AS STRING), '') AS `f0`
  FROM `tracks`
  WHERE
    NOT CAST(`visitor` AS STRING) IS NULL
    AND NOT TRIM(CAST(`visitor` AS STRING)) IN ('', 'NaN', '[object Object]', 'null', 'undefined')
), `truelift_events_read_ranked` AS (
  SELECT
    `at`,
    `event_id`,
    `visitor`,
    `name`,
    `transaction_id`,
    `cents`,
    `value`,
    `currency`,
    `is_refund`,
    `is_plain`,
    `url`,
    `f0`,
    ROW_NUMBER() OVER (
      PARTITION BY `event_id`
      ORDER BY `at`, `event_id`, `visitor`, `name`, `transaction_id`, `cents`, `value`
    ) AS `copy`
  FROM `truelift_events_read`
), `truelift_events` AS (
  SELECT
    `at`,
    `event_id`,
    `visitor`,
    `name`,
    `transaction_id`,
    `cents`,
    `value`,
    `currency`,
    `is_refund`,
    `is_plain`,
    `url`,
    `f0`
  FROM `truelift_events_read_ranked`
  WHERE
    `copy` = 1 OR `event_id` IS NULL
), `truelift_hits` AS (
  SELECT
    `at`,
    `event_id`,
    `visitor`,
    `name`,
    `transaction_id`,
    `cents`,
    `value`,
    `is_refund`,
    `is_plain`,
    CASE
      WHEN `name` = 'purchase'
      AND (
        `currency` IS NULL OR `currency` = 'USD'
      )
      AND CASE
        WHEN `is_plain` = 1
        THEN COALESCE(
          CAST(ABS(
            CASE
              WHEN (
                `value` * 100.0
              ) < 0
              THEN -(
                CASE
                  WHEN (
                    ABS((
                      `value` * 100.0
                    )) - FLOOR(ABS((
                      `value` * 100.0
                    )))
                  ) >= 0.5
                  THEN FLOOR(ABS((
                    `value` * 100.0
                  ))) + 1
                  ELSE FLOOR(ABS((
                    `value` * 100.0
                  )))
                END
              )
              ELSE CASE
                WHEN (
                  ABS((
                    `value` * 100.0
                  )) - FLOOR(ABS((
                    `value` * 100.0
                  )))
                ) >= 0.5
                THEN FLOOR(ABS((
                  `value` * 100.0
                ))) + 1
                ELSE FLOOR(ABS((
                  `value` * 100.0
                )))
              END
            END
          ) AS BIGINT),
          CAST(0 AS BIGINT)
        )
        ELSE CASE
          WHEN (
            `currency` IS NULL OR `currency` = 'USD'
          )
          THEN CAST(COALESCE(`cents`, CAST(0 AS BIGINT)) AS BIGINT)
          ELSE CAST(0 AS BIGINT)
        END
      END BETWEEN 0 AND 4611686018427387904
      THEN CAST(1 AS BIGINT)
      ELSE CAST(0 AS BIGINT)
    END AS `m_r0`,
    CASE
      WHEN `is_refund` = 1
      THEN CAST(-CASE
        WHEN `is_plain` = 1
        THEN COALESCE(
          CAST(ABS(
            CASE
              WHEN (
                `value` * 100.0
              ) < 0
              THEN -(
                CASE
                  WHEN (
                    ABS((
                      `value` * 100.0
                    )) - FLOOR(ABS((
                      `value` * 100.0
                    )))
                  ) >= 0.5
                  THEN FLOOR(ABS((
                    `value` * 100.0
                  ))) + 1
                  ELSE FLOOR(ABS((
                    `value` * 100.0
                  )))
                END
              )
              ELSE CASE
                WHEN (
                  ABS((
                    `value` * 100.0
                  )) - FLOOR(ABS((
                    `value` * 100.0
                  )))
                ) >= 0.5
                THEN FLOOR(ABS((
                  `value` * 100.0
                ))) + 1
                ELSE FLOOR(ABS((
                  `value` * 100.0
                )))
              END
            END
          ) AS BIGINT),
          CAST(0 AS BIGINT)
        )
        ELSE CASE
          WHEN (
            `currency` IS NULL OR `currency` = 'USD'
          )
          THEN CAST(COALESCE(`cents`, CAST(0 AS BIGINT)) AS BIGINT)
          ELSE CAST(0 AS BIGINT)
        END
      END AS BIGINT)
      ELSE CAST(CASE
        WHEN `is_plain` = 1
        THEN COALESCE(
          CAST(ABS(
            CASE
              WHEN (
                `value` * 100.0
              ) < 0
              THEN -(
                CASE
                  WHEN (
                    ABS((
                      `value` * 100.0
                    )) - FLOOR(ABS((
                      `value` * 100.0
                    )))
                  ) >= 0.5
                  THEN FLOOR(ABS((
                    `value` * 100.0
                  ))) + 1
                  ELSE FLOOR(ABS((
                    `value` * 100.0
                  )))
                END
              )
              ELSE CASE
                WHEN (
                  ABS((
                    `value` * 100.0
                  )) - FLOOR(ABS((
                    `value` * 100.0
                  )))
                ) >= 0.5
                THEN FLOOR(ABS((
                  `value` * 100.0
                ))) + 1
                ELSE FLOOR(ABS((
                  `value` * 100.0
                )))
              END
            END
          ) AS BIGINT),
          CAST(0 AS BIGINT)
        )
        ELSE CASE
          WHEN (
            `currency` IS NULL OR `currency` = 'USD'
          )
          THEN CAST(COALESCE(`cents`, CAST(0 AS BIGINT)) AS BIGINT)
          ELSE CAST(0 AS BIGINT)
        END
      END AS BIGINT)
    END AS `c_r0`
  FROM `truelift_events`
  WHERE
    `name` IN ('purchase')
), `truelift_orders_once` AS (
  SELECT
    *,
    ROW_NUMBER() OVER (
      PARTITION BY `transaction_id`, CASE
        WHEN `m_r0` = 1 AND `is_refund` = 0
        THEN CAST(1 AS BIGINT)
        ELSE CAST(0 AS BIGINT)
      END
      ORDER BY `at`, `event_id`, `visitor`, `name`, `transaction_id`, `cents`, `value`
    ) AS `p_r0`
  FROM `truelift_hits`
), `truelift_joined` AS (
  SELECT
    `v`.`visitor` AS `visitor`,
    `v`.`variant` AS `variant`,
    `v`.`first_day` AS `first_day`,
    `v`.`d0` AS `d0`,
    `v`.`d1` AS `d1`,
    `v`.`weekend` AS `weekend`,
    `e`.`at` AS `at`,
    `e`.`event_id` AS `event_id`,
    `e`.`name` AS `name`,
    `e`.`transaction_id` AS `transaction_id`,
    `e`.`cents` AS `cents`,
    `e`.`value` AS `value`,
    `e`.`is_refund` AS `is_refund`,
    CASE
      WHEN (
        `e`.`at` - `v`.`first_at`
      ) < 0
      THEN CAST(1 AS BIGINT)
      ELSE CAST(0 AS BIGINT)
    END AS `is_before`,
    CASE
      WHEN (
        e.`m_r0` = 1
        AND (
          e.`transaction_id` IS NULL OR e.`is_refund` = 1 OR e.`p_r0` = 1
        )
      )
      AND (
        `e`.`at` - `v`.`first_at`
      ) BETWEEN 0 AND 4611686018427387904
      THEN CAST(1 AS BIGINT)
      ELSE CAST(0 AS BIGINT)
    END AS `t_r0`,
    `e`.`c_r0` AS `c_r0`
  FROM `truelift_visitors` AS v
  JOIN `truelift_orders_once` AS e
    ON `v`.`visitor` = `e`.`visitor`
    AND (
      `e`.`at` - `v`.`first_at`
    ) BETWEEN 0 AND 4611686018427387904
    AND `e`.`at` <= 1772452800000000
  WHERE
    `v`.`variant` < 2
), `truelift_outcomes` AS (
  SELECT
    `visitor`,
    `variant`,
    `first_day`,
    `d0`,
    `d1`,
    `weekend`,
    MIN(CASE WHEN `t_r0` = 1 AND `is_refund` = 0 THEN `at` ELSE CAST(NULL AS BIGINT) END) AS `at_0`,
    CAST(SUM(CASE WHEN `t_r0` = 1 THEN `c_r0` ELSE CAST(0 AS BIGINT) END) AS BIGINT) AS `cents_0`
  FROM `truelift_joined`
  GROUP BY
    `visitor`,
    `variant`,
    `first_day`,
    `d0`,
    `d1`,
    `weekend`
), `truelift_visitor_values` AS (
  SELECT
    *,
    CAST(`cents_0` AS DECIMAL(38, 0)) AS `v_money_0`,
    CAST(CASE
      WHEN `cents_0` > 1000000000000000
      THEN CAST(1000000000000000 AS BIGINT)
      WHEN `cents_0` < -1000000000000000
      THEN CAST(-1000000000000000 AS BIGINT)
      ELSE `cents_0`
    END AS DECIMAL(38, 0)) AS `k_money_0`
  FROM `truelift_outcomes`
), `truelift_powers` AS (
  SELECT
    *,
    CAST((
      `k_money_0` * `k_money_0`
    ) DIV CAST(1000000000000000 AS DECIMAL(38, 0)) AS DECIMAL(38, 0)) AS `h_money_0`
  FROM `truelift_visitor_values`
), `truelift_cap_0` AS (
  SELECT
    CAST(0 AS BIGINT) AS `variant`,
    CAST(0 AS BIGINT) AS `first_day`,
    MIN(`y`) AS `cap`
  FROM (
    SELECT
      `cents_0` AS `y`,
      CAST(ROW_NUMBER() OVER (ORDER BY `cents_0`) AS BIGINT) AS `place`,
      COUNT(*) OVER () AS `visitors`
    FROM `truelift_outcomes`
    WHERE
      `cents_0` > 0
  ) AS ranked
  WHERE
    (
      `place` * 100000000
    ) >= (
      `visitors` * 99000000
    )
), `truelift_raw_products` AS (
  SELECT
    *,
    `cents_0` AS `raw_0`,
    CAST(CASE
      WHEN `cents_0` > (
        SELECT
          `cap`
        FROM `truelift_cap_0`
      )
      THEN CAST((
        SELECT
          `cap`
        FROM `truelift_cap_0`
      ) AS BIGINT)
      ELSE CAST(`cents_0` AS BIGINT)
    END AS DECIMAL(38, 0)) AS `y_0`
  FROM `truelift_outcomes`
), `truelift_clamped` AS (
  SELECT
    *,
    CAST(CASE
      WHEN `y_0` > 1000000000000000
      THEN CAST(1000000000000000 AS BIGINT)
      WHEN `y_0` < -1000000000000000
      THEN CAST(-1000000000000000 AS BIGINT)
      ELSE `y_0`
    END AS DECIMAL(38, 0)) AS `ky_0`
  FROM `truelift_raw_products`
), `truelift_valued` AS (
  SELECT
    *,
    CAST((
      `ky_0` * `ky_0`
    ) DIV CAST(1000000000000000 AS DECIMAL(38, 0)) AS DECIMAL(38, 0)) AS `hyy_0`
  FROM `truelift_clamped`
)
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('cohorts' AS STRING) AS `kind`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN CAST(0 AS BIGINT)
    WHEN GROUPING(`d1`) = 0
    THEN CAST(1 AS BIGINT)
    WHEN GROUPING(`weekend`) = 0
    THEN CAST(2 AS BIGINT)
    ELSE CAST(-1 AS BIGINT)
  END AS `dimension`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN `d0`
    WHEN GROUPING(`d1`) = 0
    THEN `d1`
    WHEN GROUPING(`weekend`) = 0
    THEN `weekend`
    ELSE CAST(NULL AS STRING)
  END AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(CAST(NULL AS BIGINT) AS BIGINT) AS `goal`,
  CAST(`first_day` AS BIGINT) AS `day`,
  CAST(CAST(SUM(CASE WHEN NOT `at_0` IS NULL THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  CAST(CAST(SUM(`v_money_0`) AS DECIMAL(38, 0)) AS STRING) AS `n1`,
  CAST(CAST(SUM(`v_money_0` * `v_money_0`) AS DECIMAL(38, 0)) AS STRING) AS `n2`,
  CAST(CAST(SUM(`k_money_0` * `h_money_0`) AS DECIMAL(38, 0)) AS STRING) AS `n3`,
  CAST(CAST(SUM(
    `k_money_0` * (
      (
        `k_money_0` * `k_money_0`
      ) - (
        `h_money_0` * CAST(1000000000000000 AS DECIMAL(38, 0))
      )
    )
  ) AS DECIMAL(38, 0)) AS STRING) AS `n4`
FROM `truelift_powers`
GROUP BY
  GROUPING SETS (
    (`variant`, `first_day`),
    (`variant`, `first_day`, `d0`),
    (`variant`, `first_day`, `d1`),
    (`variant`, `first_day`, `weekend`)
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('products' AS STRING) AS `kind`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN CAST(0 AS BIGINT)
    WHEN GROUPING(`d1`) = 0
    THEN CAST(1 AS BIGINT)
    WHEN GROUPING(`weekend`) = 0
    THEN CAST(2 AS BIGINT)
    ELSE CAST(-1 AS BIGINT)
  END AS `dimension`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN `d0`
    WHEN GROUPING(`d1`) = 0
    THEN `d1`
    WHEN GROUPING(`weekend`) = 0
    THEN `weekend`
    ELSE CAST(NULL AS STRING)
  END AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(CAST(NULL AS BIGINT) AS BIGINT) AS `goal`,
  CAST(`first_day` AS BIGINT) AS `day`,
  CAST(CAST(SUM(
    CASE
      WHEN CAST(`raw_0` AS DECIMAL(38, 0)) > `y_0`
      THEN CAST(1 AS BIGINT)
      ELSE CAST(0 AS BIGINT)
    END
  ) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  CAST(CAST(SUM(`y_0`) AS DECIMAL(38, 0)) AS STRING) AS `n1`,
  CAST(CAST(SUM(`y_0` * `y_0`) AS DECIMAL(38, 0)) AS STRING) AS `n2`,
  CAST(CAST(SUM(`ky_0` * `hyy_0`) AS DECIMAL(38, 0)) AS STRING) AS `n3`,
  CAST(CAST(SUM(
    `ky_0` * (
      (
        `ky_0` * `ky_0`
      ) - (
        `hyy_0` * CAST(1000000000000000 AS DECIMAL(38, 0))
      )
    )
  ) AS DECIMAL(38, 0)) AS STRING) AS `n4`
FROM `truelift_valued`
GROUP BY
  GROUPING SETS (
    (`variant`, `first_day`),
    (`variant`, `first_day`, `d0`),
    (`variant`, `first_day`, `d1`),
    (`variant`, `first_day`, `weekend`)
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('visitors' AS STRING) AS `kind`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN CAST(0 AS BIGINT)
    WHEN GROUPING(`d1`) = 0
    THEN CAST(1 AS BIGINT)
    WHEN GROUPING(`weekend`) = 0
    THEN CAST(2 AS BIGINT)
    ELSE CAST(-1 AS BIGINT)
  END AS `dimension`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN `d0`
    WHEN GROUPING(`d1`) = 0
    THEN `d1`
    WHEN GROUPING(`weekend`) = 0
    THEN `weekend`
    ELSE CAST(NULL AS STRING)
  END AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(CAST(NULL AS BIGINT) AS BIGINT) AS `goal`,
  CAST(`first_day` AS BIGINT) AS `day`,
  CAST(CAST(COUNT(*) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  NULL AS `n1`,
  NULL AS `n2`,
  NULL AS `n3`,
  NULL AS `n4`
FROM `truelift_visitors`
GROUP BY
  GROUPING SETS (
    (`variant`, `first_day`),
    (`variant`, `first_day`, `d0`),
    (`variant`, `first_day`, `d1`),
    (`variant`, `first_day`, `weekend`)
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('conversions' AS STRING) AS `kind`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN CAST(0 AS BIGINT)
    WHEN GROUPING(`d1`) = 0
    THEN CAST(1 AS BIGINT)
    WHEN GROUPING(`weekend`) = 0
    THEN CAST(2 AS BIGINT)
    ELSE CAST(-1 AS BIGINT)
  END AS `dimension`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN `d0`
    WHEN GROUPING(`d1`) = 0
    THEN `d1`
    WHEN GROUPING(`weekend`) = 0
    THEN `weekend`
    ELSE CAST(NULL AS STRING)
  END AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(0 AS BIGINT) AS `goal`,
  CAST(CAST((
    `at_0` + CAST(-18000000000 AS BIGINT)
  ) DIV 86400000000 AS BIGINT) AS BIGINT) AS `day`,
  CAST(CAST(COUNT(*) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  NULL AS `n1`,
  NULL AS `n2`,
  NULL AS `n3`,
  NULL AS `n4`
FROM `truelift_outcomes`
WHERE
  NOT `at_0` IS NULL
GROUP BY
  GROUPING SETS (
    (
      `variant`,
      CAST((
        `at_0` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT)
    ),
    (
      `variant`,
      CAST((
        `at_0` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `d0`
    ),
    (
      `variant`,
      CAST((
        `at_0` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `d1`
    ),
    (
      `variant`,
      CAST((
        `at_0` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `weekend`
    )
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('days' AS STRING) AS `kind`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN CAST(0 AS BIGINT)
    WHEN GROUPING(`d1`) = 0
    THEN CAST(1 AS BIGINT)
    WHEN GROUPING(`weekend`) = 0
    THEN CAST(2 AS BIGINT)
    ELSE CAST(-1 AS BIGINT)
  END AS `dimension`,
  CASE
    WHEN GROUPING(`d0`) = 0
    THEN `d0`
    WHEN GROUPING(`d1`) = 0
    THEN `d1`
    WHEN GROUPING(`weekend`) = 0
    THEN `weekend`
    ELSE CAST(NULL AS STRING)
  END AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(CAST(NULL AS BIGINT) AS BIGINT) AS `goal`,
  CAST(CAST((
    `at` + CAST(-18000000000 AS BIGINT)
  ) DIV 86400000000 AS BIGINT) AS BIGINT) AS `day`,
  CAST(CAST(SUM(
    CAST(CASE WHEN `t_r0` = 1 THEN `c_r0` ELSE CAST(0 AS BIGINT) END AS DECIMAL(38, 0))
  ) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  NULL AS `n1`,
  NULL AS `n2`,
  NULL AS `n3`,
  NULL AS `n4`
FROM `truelift_joined`
WHERE
  `is_before` = 0
GROUP BY
  GROUPING SETS (
    (
      `variant`,
      CAST((
        `at` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT)
    ),
    (
      `variant`,
      CAST((
        `at` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `d0`
    ),
    (
      `variant`,
      CAST((
        `at` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `d1`
    ),
    (
      `variant`,
      CAST((
        `at` + CAST(-18000000000 AS BIGINT)
      ) DIV 86400000000 AS BIGINT),
      `weekend`
    )
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('since' AS STRING) AS `kind`,
  CAST(-1 AS BIGINT) AS `dimension`,
  CAST((
    CAST((
      `at_0` + CAST(-18000000000 AS BIGINT)
    ) DIV 86400000000 AS BIGINT) - `first_day`
  ) AS STRING) AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(0 AS BIGINT) AS `goal`,
  CAST(`first_day` AS BIGINT) AS `day`,
  CAST(CAST(COUNT(*) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  NULL AS `n1`,
  NULL AS `n2`,
  NULL AS `n3`,
  NULL AS `n4`
FROM `truelift_outcomes`
WHERE
  NOT `at_0` IS NULL
  AND (
    CAST((
      `at_0` + CAST(-18000000000 AS BIGINT)
    ) DIV 86400000000 AS BIGINT) - `first_day`
  ) < 28
GROUP BY
  GROUPING SETS (
    (
      `variant`,
      `first_day`,
      (
        CAST((
          `at_0` + CAST(-18000000000 AS BIGINT)
        ) DIV 86400000000 AS BIGINT) - `first_day`
      )
    )
  )
UNION ALL
SELECT
  CAST(0 AS BIGINT) AS `experiment`,
  CAST('cap' AS STRING) AS `kind`,
  CAST(-1 AS BIGINT) AS `dimension`,
  CAST(NULL AS STRING) AS `value`,
  CAST(`variant` AS BIGINT) AS `variant`,
  CAST(0 AS BIGINT) AS `goal`,
  CAST(`first_day` AS BIGINT) AS `day`,
  CAST(CAST(MAX(`cap`) AS DECIMAL(38, 0)) AS STRING) AS `n0`,
  NULL AS `n1`,
  NULL AS `n2`,
  NULL AS `n3`,
  NULL AS `n4`
FROM `truelift_cap_0`
GROUP BY
  GROUPING SETS (
    (`variant`, `first_day`)
  )
