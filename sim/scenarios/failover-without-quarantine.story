# The same failover without quarantine
# The new primary never saw p1's lock, and grants it to p2 while the old one
# still renews it for p1: two holders at once. Only the guarded register keeps
# them apart, by their fences.
nodes 1
processes 2
seed 6
regime failover
quarantine off
max_ttl 5s
delay 10ms
jitter 2ms
calm 60s
turn p1 think 1500ms name a ttl 4s hold 6s writes 3
turn p2 think 4s name a ttl 4s hold 3s writes 2
at 3s promote n1 by 2s for 3s
at 3010ms cut p2 n1
