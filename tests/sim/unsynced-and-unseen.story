# A server that is told to sync seldom loses data while no client looks
# It syncs seldom still when clients look again: they see that it may have.
nodes 3
processes 2
seed 2023660
regime restart-durable
max_ttl 74ms
node_timeout 11ms
delay 1.473ms
jitter 100us
calm 100.2ms
turn p2 name a ttl 74ms
turn p2 name a ttl 74ms
at 0s ghost n3 by 9.35ms for 2ms
at 0s unsynced n2 for 91ms
at 5.57ms ghost n1 by 3.43ms for 9ms
at 8.2ms stop n1 for 12ms
at 50.2ms age n2 by 49.3ms for 0s
at 50.2ms pause p1 for 50ms
at 50.2ms pause p2 for 50ms
