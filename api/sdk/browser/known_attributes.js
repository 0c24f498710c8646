// What is no custom dimension, by `make snippet` from pipeline/events/attributes.py.
export const KNOWN_ATTRIBUTES =
  "browser city cookie cookies country day_of_week device_type hour_of_day language os query_param query_params referrer region traffic_source url user_agent utm_campaign utm_medium utm_source visitor_identity visitor_type custom_dimensions custom_dimension";
