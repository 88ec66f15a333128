# A release whose script is sent first takes longer than the timeout
# The node does not know the script: two round trips, of which the second ends
# after node_timeout. The release is unknown, as documented.
nodes 1
processes 2
seed 414410142
regime flush
max_ttl 3.88s
node_timeout 34ms
delay 2.574ms
jitter 5.14ms
late 519ppm by 710ms
calm 130ms
turn p1 name a think 54ms ttl 3.88s hold 1ms extends 2
turn p2 name c ttl 3.88s hold 10ms
