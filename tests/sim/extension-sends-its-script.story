# A script that is sent first
# The node does not know the script of a renewal: with the second exchange the
# extension takes longer than the twentieth of the ttl that it has.
nodes 1
processes 4
seed 5012551
regime network
max_ttl 369ms
node_timeout 26ms
delay 2.231ms
jitter 2.196ms
shatter 217258ppm
calm 74.2ms
turn p3 name a think 29ms ttl 369ms hold 1ms extends 1
turn p4 name a ttl 369ms
