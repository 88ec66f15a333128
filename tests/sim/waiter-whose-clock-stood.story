# p2 waits, and its clock stands still for 45 s
# Its heartbeat comes two seconds after the clock goes on.
nodes 1
processes 3
seed 3208679
regime wild-clocks
max_ttl 21.845s
node_timeout 50ms
delay 200us
jitter 0s
host p3 p1
calm 2ms
turn p1 name a ttl 21.845s
turn p2 name a think 3ms ttl 21.845s
at 0s process-clock p2 by -45.286297s
at 2ms reboot p3 for 0s
