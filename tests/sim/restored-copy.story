# expect: C4
# A copy of a durable server's data folder is restored
# The copy has the marker of the same server, which was durable and is, and lacks
# the lock that p1 was granted after it was made. No server tells: the operator
# must (doctor --quarantine). Not promised (docs/caveats.md).
nodes 1
processes 2
regime restart-durable
max_ttl 10s
delay 2ms
jitter 1ms
calm 30s
brief p2
turn p1 name a ttl 10s think 2s hold 30s
turn p2 name a ttl 10s think 4s wait none hold 2s
at 2800ms silence p1 n1 for 20s
at 3s age n1 by 2s for 500ms
