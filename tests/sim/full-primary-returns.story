# A primary that returns has memory again
# n2 refuses what needs memory, and its replica is promoted. That fault is over when
# the primary comes back, so a renewed lock must be repaired there, too.
nodes 3
processes 1
seed 803253241
regime failover
max_ttl 2.663s
node_timeout 165ms
delay 200us
jitter 0s
calm 3.71s
turn p1 name a think 2.212s ttl 1.986s hold 1.6s
at 0s full n2 for 0s
at 0s promote n2 by 1.91s for 1ms
at 1ms return n2
