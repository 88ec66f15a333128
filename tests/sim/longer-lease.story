# A request for less time does not shorten a lease
# p1 has extended its lock on c for longer than it renews it for.
nodes 1
processes 2
seed 1521
regime network
max_ttl 404ms
node_timeout 11ms
delay 200us
jitter 0s
calm 2.08s
turn p1 name b think 578ms ttl 147ms hold 180ms
turn p1 name c think 37.6ms ttl 112ms hold 325ms extends 3
turn p2 name b think 622ms ttl 401ms hold 57ms
turn p2 name a,b,c,d ttl 349ms
at 1.03s partition p2,n1 for 60ms
