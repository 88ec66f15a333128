# A wait without end is never BUSY
# p2 has only been started when the nodes stand still, one after another. One of
# them has answered that p1 has the name; a majority was never reached. After 4.8 s
# that ends a wait without end: it is UNAVAILABLE, whichever client has the name.
nodes 3
processes 2
seed 1823
regime network
max_ttl 5s
node_timeout 1.04s
delay 200us
jitter 0s
calm 29.6s
turn p1 name a think 17.5s ttl 5s
turn p2 name a think 11.7s ttl 5s
turn p2 name a ttl 5s
at 7.18s crash p2 for 6.46s
at 12.5s stop n1 for 5.49s
at 13.4s stop n2 for 6.06s
at 13.7s stop n3 for 7.2s
