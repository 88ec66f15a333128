# A callback that is owed is made, though nothing else happens
# p3 takes over what it was handed in a blocking call, which ends another wait
# of its own meanwhile; the simulated event loop slept on it.
nodes 1
processes 3
seed 2
regime network
max_ttl 632ms
node_timeout 50ms
delay 200us
jitter 28us
calm 1.99s
turn p1 name a think 79.6ms ttl 522ms hold 48.3ms extends 1
turn p2 name a think 15ms ttl 479ms
turn p2 name a think 64.1ms ttl 605ms hold 15ms
turn p2 name b think 73.1ms ttl 495ms hold 9ms
turn p2 name a ttl 486ms hold 40ms hands-on
turn p3 name a think 104ms ttl 448ms
turn p3 name a ttl 498ms
turn p3 name b wait 195ms ttl 438ms
at 97ms silence p1 n1 for 12.7ms
at 130ms crash p1 for 0s
at 470ms crash p3 for 499ms
at 702ms crash p2 for 249ms
at 905ms stop n1 for 499ms
at 1.42s crash p3 for 89.2ms
at 1.49s stop n1 for 478ms
