# A lock is handed on, and a twentieth of its lease is one round trip
# The adopting process first has to open its connections: it may be too late.
nodes 1
processes 2
seed 2016185
regime clocks-right-rates
max_ttl 117ms
node_timeout 14ms
queues off
delay 1.342ms
jitter 440us
calm 16.5ms
turn p2 name a ttl 117ms hands-on
