# A durable server is told not to sync while it rewrites, and loses a second
# The marker says that it was durable when it was written; what counts is that
# it is durable now, in every respect. p2 must wait for a quarantine.
nodes 1
processes 2
regime restart-durable
max_ttl 10s
delay 2ms
jitter 1ms
calm 30s
brief p2
turn p1 name a ttl 10s think 2500ms hold 30s
turn p2 name a ttl 10s think 4s wait none hold 2s
at 1s unsynced n1 for 30s
at 2800ms silence p1 n1 for 20s
at 3s age n1 by 1s for 500ms
