# A clock is set back by 7 s, and then ahead by 0.1 s
# It stands still for 6.9 s, and does not leap by what it stood still.
nodes 1
processes 3
seed 2021069
regime wild-clocks
max_ttl 3.675s
node_timeout 674ms
queues off
delay 200us
jitter 0s
host p2 p1
host p3 p1
calm 7.245625s
turn p2 name c wait none ttl 3.675s
at 0s stop n1 for 4.14s
at 0s process-clock p1 by -7.245796s
at 0s process-clock p3 by 98.3ms
at 3.04s silence n1 for 4.14s
