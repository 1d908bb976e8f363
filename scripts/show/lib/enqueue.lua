-- For wrk: each request adds one job. Counts the statuses, and prints them with the latencies.
wrk.method = "POST"
wrk.path = "/api/v1/jobs"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("LONGSHORE_TOKEN")
wrk.body = '{"kind": "noop", "queue": "nobody", "payload": {"note": "' .. string.rep("x", 60) .. '"}}'

local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() added, others = 0, 0 end
function response(status) if status == 201 then added = added + 1 else others = others + 1 end end

function done(summary, latency)
  local added, others = 0, 0
  for _, thread in ipairs(threads) do
    added, others = added + thread:get("added"), others + thread:get("others")
  end
  local errors = summary.errors
  others = others + errors.connect + errors.read + errors.write + errors.timeout
  print(string.format("figures %d %d %.0f %.2f %.2f", added, others, added / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
