# A break that finds a break, and one clock of three that is set right between
# What the first one left at that node, when its process crashed, would last
# for years. It stands for a lease of ours: the second must not wait for it.
nodes 3
processes 3
seed 1
regime wild-clocks
max_ttl 400ms
node_timeout 50ms
delay 200us
jitter 0s
wall n1 278381773.779s
calm 500ms
turn p1 name a ttl 300ms hold 200ms
turn p2 name a think 6ms ttl 300ms break
turn p3 name a think 20ms ttl 300ms break
at 5ms crash p1 for 2s
at 10ms crash p2 for 2s
at 15ms node-clock n1 by -278381773.779s
