# expect: C4
# The old primary never restarted, and gets its address back
# Its marker names it, so nothing that a client can ask for tells it from a
# server that kept all its data. It knows nothing of the lock that the promoted
# replica granted to p2 meanwhile. Not promised (docs/caveats.md).
nodes 1
processes 3
regime amnesia-quarantined
max_ttl 10s
delay 2ms
jitter 1ms
calm 60s
brief p3
turn p2 name a ttl 10s think 3s hold 30s
turn p3 name a ttl 10s think 15s wait none hold 2s
at 1s promote n1 by 500ms for 40s
at 1010ms cut
at 13500ms silence p2 n1 for 20s
at 14s return n1
