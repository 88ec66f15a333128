# A break that does not wait so long gives the name back
# p1 renews as if nothing had been, and p3 waits for it.
nodes 1
processes 3
seed 1
regime network
max_ttl 200ms
node_timeout 20ms
delay 200us
jitter 0s
calm 100ms
turn p1 name a ttl 200ms hold 80ms
turn p2 name a think 5ms ttl 200ms wait 10ms break
turn p3 name a think 10ms ttl 200ms hold 5ms
