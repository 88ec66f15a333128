# Renewed, at risk, lost
# The server stands still twice. The first time it is back before the lease is
# over: the lock is at risk, then safe again. The second time p1 knows by its own
# timer when the lease ends, and stops before another process can be granted it.
nodes 1
processes 2
seed 2
regime network
max_ttl 10s
delay 10ms
jitter 2ms
calm 60s
turn p1 name a ttl 3s hold 20s
turn p2 think 5s name a ttl 3s hold 1500ms
at 1500ms stop n1 for 1800ms
at 6s stop n1 for 3500ms
