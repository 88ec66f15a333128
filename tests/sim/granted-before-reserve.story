# p2 stands still before it sees a grant, and the name is reserved meanwhile
# Its fence is older than the reservation: it was granted before.
nodes 1
processes 3
seed 2018838
regime restart-durable
max_ttl 392ms
node_timeout 97ms
delay 200us
jitter 0s
calm 2.441s
turn p2 name b ttl 392ms
turn p2 name a ttl 392ms blocking
turn p3 name a ttl 392ms hold 199ms hands-on
turn p3 name a ttl 392ms hold 497ms hands-on
turn p3 name a ttl 392ms reserve 381ms
at 133ms deafness n1 for 689ms
at 1.7s pause-midway p2 for 741ms
