# The pause past the lease
# p1 stands still for longer than its lease, wakes up in the middle of its work
# and writes: its fence is older than the one that the register has seen.
nodes 1
processes 2
seed 1
regime network
max_ttl 10s
delay 10ms
jitter 2ms
calm 20s
turn p1 name a ttl 2s hold 5s writes 4
turn p2 think 800ms name a ttl 2s hold 1500ms writes 2
at 1400ms pause-midway p1 for 3s
