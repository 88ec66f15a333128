# A server starts empty with a wrong clock, and NTP sets it right seconds later
# p1 holds the lock and hears nothing. Commands of three hosts come and go. The
# step of the server's wall clock must not end the quarantine for any of them:
# the hosts watch by their own clocks.
nodes 1
processes 4
regime boot-clocks
max_ttl 20s
delay 2ms
jitter 1ms
calm 40s
brief p2
brief p3
brief p4
turn p1 name a ttl 20s hold 30s
turn p2 name a ttl 20s think 3s wait none
turn p3 name a ttl 20s think 8s wait none
turn p4 name a ttl 20s think 10s wait none hold 5s
at 1900ms silence p1 n1 for 30s
at 2s empty n1 for 500ms
at 2100ms node-clock n1 by -10h
at 6s node-clock n1 by 10h
