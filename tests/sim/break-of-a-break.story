# A break at once takes a name from a break that waits
# p1 waits for p2's lease to end; p3 does not. p2 believes still, beside p4.
nodes 1
processes 4
seed 4002296
regime boot-clocks
max_ttl 22.279s
node_timeout 17ms
delay 200us
jitter 0s
calm 0s
turn p1 name a ttl 22.279s break
turn p2 name a ttl 22.279s hold 3ms
turn p3 name a ttl 22.279s break-now
turn p4 name a ttl 22.279s
