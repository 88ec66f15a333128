# Of two permits one is held, and the other one is split until a try is over
# p3 holds the permit that p1 tries first. n3 does not answer, and late requests
# of p2 hold the other one at n1 only. Two nodes answer each attempt of p1, and
# no majority can grant it: that is busy, not unavailable.
nodes 3
processes 3
seed 4
regime network
max_ttl 29.95s
node_timeout 573ms
queues off
delay 200us
jitter 2.033ms
calm 10.4s
turn p1 name a think 7.75s wait none ttl 29.95s permits 2
turn p2 name a think 744ms wait 4.508s ttl 29.95s
turn p2 name a think 385ms ttl 29.95s permits 2
turn p3 name a think 7.4s ttl 29.95s hold 3s permits 2
at 0s silence n3 for 10.4s
at 5ms slow p2 n1 by 6.78s for 1.02s
