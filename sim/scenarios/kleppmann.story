# The pause past the lease
# p1 stands still in the middle of a write, for longer than its lease. When it
# wakes up and writes, its fence is older than the last one that the register
# has seen: refused.
nodes 1
processes 2
seed 1
regime network
max_ttl 10s
delay 10ms
jitter 2ms
calm 20s
turn p1 name a ttl 2s hold 5s writes 4
turn p2 think 1s name a ttl 2s hold 1900ms writes 1
at 1900ms pause p1 for 3600ms
