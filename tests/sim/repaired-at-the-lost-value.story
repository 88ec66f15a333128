# The value that a node lost is given to another by the others
# n1, whose clock is ahead, grants p1 the first value of the next step of the
# clock floor, which p1 does not use: its fence is that of n2 and n3. n1 loses it
# with its last seconds. When n2 and n3 reach that step they grant p1's next
# turn the same value, and p1 repairs n1 with it, which is in quarantine.
# (A drawn seed, cut down.)
nodes 3
processes 2
seed 70806338
regime restart-durable
max_ttl 307ms
node_timeout 68ms
delay 200us
jitter 0s
wall n1 582ms
calm 2.34s
turn p1 name a think 232ms ttl 307ms hold 275ms
turn p1 name a think 853ms ttl 307ms hold 226ms
turn p1 name a think 370ms ttl 307ms hold 112ms
turn p2 name a think 220ms ttl 307ms hold 281ms
at 263ms everysec n1 for 1.38s
at 1.634s age n1 by 1.74s for 0s
