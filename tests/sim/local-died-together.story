# A holder and the first waiters die together
# p1 has the name in one lane and waits for it in two: p2 comes after these, so
# that it is not the next to be served. It must find out with a heartbeat that
# the holder is dead, not when the places before it end.
store local
processes 2
regime local
turn p1.2 name a ttl 22s think 1ms hold 2s
turn p1 name a ttl 22s think 2ms
turn p1.3 name a ttl 22s think 3ms
turn p2 name a ttl 22s think 50ms
at 100ms crash p1 for 10s
calm 12s
