# A clock that two processes share stands still
# What p2's fault does is done to p1: while the clock stands, nothing is due.
nodes 1
processes 2
seed 2019436
regime wild-clocks
max_ttl 2.151s
node_timeout 50ms
delay 200us
jitter 0s
host p2 p1
calm 5.97s
turn p1 name a ttl 2.151s
turn p1 name a ttl 2.151s hold 670ms
turn p1 name a ttl 2.151s hold 1.59s
turn p1.2 name a ttl 2.151s
turn p2 name a ttl 2.151s hold 32ms
turn p2.2 name a ttl 2.151s hold 1.26s
at 0s process-clock p2 by -5.774125s
at 3ms process-clock p2 by 1.41s
at 1.29s pause p1 for 2.43s
