# An owner whose counter was evicted gets a new one
# p3 is deaf when it is granted the name, and asks again after the eviction.
nodes 1
processes 3
seed 171453590
regime evict
max_ttl 5.932s
node_timeout 329ms
delay 200us
jitter 0s
calm 21.51s
turn p1 name a think 4.85s ttl 5.932s
turn p1 name b ttl 5.932s once 39.775s
turn p2 name a,c think 4.83s ttl 5.932s hold 1.16s
turn p3 name a think 6.7s ttl 5.932s
at 1ms evict n1 keys 2
at 15.7s deafness p3 for 5.81s
at 21.323284s evict n1 keys 4
