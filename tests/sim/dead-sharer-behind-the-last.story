# The lease of a sharer that died ends behind the last release
# The waiter knows the end of the longest lease, whose sharer has released:
# its next heartbeat finds the name free.
nodes 5
processes 3
seed 425258742
regime clocks-right-rates
max_ttl 17.824s
node_timeout 1.727s
delay 200us
jitter 65us
host p2 p1
host p3 p1
wall n1 283082201.773s
wall n2 -63301.694s
calm 16.168419801s
turn p1.3 name a ttl 17.824s
turn p1.3 name a ttl 17.824s
turn p1.3 name a think 5.51s ttl 17.824s
turn p1.3 name a ttl 17.824s hold 3ms shared
turn p2 name a ttl 17.824s
turn p2 name a think 5.17s ttl 17.824s shared
turn p3 name a think 178ms ttl 17.824s
turn p3 name a ttl 17.824s
turn p3 name a ttl 17.824s
turn p3 name a ttl 17.824s shared
turn p3 name a ttl 17.824s
at 0s stop n4 for 13.3s
at 0s crash p1 for 48ms
at 2.47s reboot p1 for 305ms
at 2.78s crash p3 for 705ms
at 2.78s stop n1 for 8.29s
at 7.82s stop n5 for 8.29s
at 7.82s stop n3 for 8.29s
at 8.43s reboot p2 for 217ms
