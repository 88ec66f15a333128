# The second of two names is tried when the wait is nearly over
# p1 is granted a 4.8 ms before its wait ends, and tries b, which is free: the
# answer takes longer than that. The server answers, so it is not unavailable.
nodes 1
processes 2
seed 936415532
regime clocks-right-rates
max_ttl 1.946s
node_timeout 50ms
queues off
delay 2.303ms
jitter 1.11ms
brief p1
calm 1.33s
turn p1 name a ttl 1.946s hold 429ms
turn p1 name a,b think 241ms wait 619ms ttl 1.946s
turn p2 name a think 477ms ttl 1.946s hold 837ms
