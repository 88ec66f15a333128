# One of two permits is split among the nodes, the other one is free
# n3 does not answer, and late requests of p2 arrive at n1: they hold a permit
# there that n2 has free. p1 tries this one first, and no majority can grant it.
# It must not use up the time of the try: the other permit is free at both.
nodes 3
processes 2
seed 695648317
regime network
max_ttl 29.95s
node_timeout 573ms
queues off
delay 2.032ms
jitter 2.033ms
calm 10.4s
turn p1 name c think 5.25s ttl 29.95s
turn p1 name a think 2.24s wait none ttl 29.95s permits 2
turn p2 name a think 744ms wait 4.508s ttl 29.95s permits 2
turn p2 name a think 385ms ttl 29.95s permits 2
at 0s silence n3 for 10.4s
at 13ms slow p2 n1 by 6.78s for 1.02s
