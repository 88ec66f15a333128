# A permit waits for a silent node, and another one is free
# n2 stands still, with a time limit longer than a try, and a RELEASE of p1 is
# late at n1. p2 tries the permit that p1 has there: n3 grants it, and only n2
# could make a majority. The other permits are free at both.
nodes 3
processes 2
seed 718129715
regime clocks-right-rates
max_ttl 24.584s
node_timeout 3.404s
delay 200us
jitter 0s
calm 907ms
turn p1 name a ttl 24.584s permits 3
turn p2 name a ttl 24.584s
turn p2 name a ttl 24.584s permits 3
turn p2 name a wait none ttl 24.584s permits 3
at 2ms silence p1 n1 for 1ms
at 4ms stop n2 for 830ms
