-- The same work in each execution: sizes are fixed, and nothing depends on a clock or on random numbers.
local works = {}

function works.tables()
  local list, records = {}, {}
  for i = 1, 200000 do list[i] = i end
  for i = 1, 20000 do records[i] = {x = i, y = -i, name = "r"} end
  table.sort(list, function(a, b) return a > b end)
end

function works.strings()
  local parts = {}
  for i = 1, 50000 do parts[i] = ("%d: %s"):format(i, ("x"):rep(i % 40)) end
  local text = table.concat(parts, "\n")
  for _ = 1, 5 do text = text:gsub("x+", "y"):upper():lower() end
end

function works.closures()
  local made = {}
  for i = 1, 50000 do made[i] = function() return i end end
  for i = 1, 2000 do
    local thread = coroutine.wrap(function(n) while true do n = coroutine.yield(n + 1) end end)
    made[i] = thread
    thread(i)
  end
end

works[arg[1]]()
