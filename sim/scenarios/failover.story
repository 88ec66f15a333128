# A lagging replica takes over
# The new primary never saw p1's lock, and the old one goes on serving p1. p2
# reaches the new one, sees that it is another server, and lets its grants count
# only after every lock that it may have missed is over.
nodes 1
processes 2
seed 6
regime failover
max_ttl 5s
delay 10ms
jitter 2ms
calm 60s
turn p1 think 1500ms name a ttl 4s hold 6s writes 3
turn p2 think 4s name a ttl 4s hold 3s writes 2
at 3s promote n1 by 2s for 3s
at 3010ms cut p2 n1
