-- Requests of wrk: each event has an id of its own. Arguments: SDK key, experiment, variant, events a request.
local head, tail, count, prefix
local number = 0

function setup(thread)
  -- Ids of several runs differ.
  thread:set("run", os.time())
end

function init(args)
  wrk.method = "POST"
  wrk.path = "/api/v1/sdk/track"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["X-SDK-Key"] = args[1]
  wrk.headers["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    .. "Chrome/126.0.0.0 Safari/537.36"
  count = tonumber(args[4])
  prefix = string.format("3f0c2a9e-1b2c-4d5e-%04x-", run % 65536)
  tail = '","experiment_id":"' .. args[2] .. '","variant_id":"' .. args[3]
    .. '","attributes":{"country":"US","visitor_type":"new"},"url":"https://shop.example/products/'
end

function request()
  local events = {}
  for place = 1, count do
    number = number + 1
    events[place] = string.format(
      '{"event_id":"%s%012d","type":"exposure","visitor_id":"visitor-%012d%s%d?utm_source=google&utm_medium=cpc"}',
      prefix, number, number, tail, number % 100)
  end
  return wrk.format(nil, nil, nil, '{"batch":[' .. table.concat(events, ",") .. "]}")
end

function done(summary, latency)
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"errors":%d,"p50_ms":%f,"p99_ms":%f,"most_ms":%f}\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status
      + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
