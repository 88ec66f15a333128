# p2 breaks a name at once, and again
# The second break finds no holder: it says nothing of p1, which still believes
# that it holds the name.
nodes 1
processes 2
seed 4000351
regime network
max_ttl 12.876s
node_timeout 50ms
queues off
delay 200us
jitter 0s
calm 2.5ms
turn p1 name a ttl 12.876s hold 3ms
turn p2 name a ttl 12.876s break-now
turn p2 name a ttl 12.876s break-now

