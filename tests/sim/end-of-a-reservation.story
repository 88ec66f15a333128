# p2 waits for a name that p1 has reserved with its release
# No node tells when a reservation ends: p2 hears with its next heartbeat.
nodes 1
processes 3
seed 2025405
regime calm
max_ttl 10.378s
node_timeout 29ms
delay 200us
jitter 0s
calm 6.746s
turn p1 name a think 1ms ttl 6.348s hold 1.75s reserve 318ms
turn p2 name a ttl 6.503s
turn p2 name a think 5.639s ttl 9.216s
turn p3 name a ttl 9.008s hold 4.67s
