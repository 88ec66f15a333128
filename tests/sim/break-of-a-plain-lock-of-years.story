# A break of a lock of another library, where a clock is set right
# n2's clock is far ahead when another library takes the name, and is set right:
# there the lock lasts for years. A break that may wait for it without end would.
nodes 3
processes 2
seed 2042258
regime wild-clocks
max_ttl 1.273s
node_timeout 48ms
delay 200us
jitter 0s
wall n2 83150664.118s
calm 1ms
turn p1 name a ttl 650ms break
turn p2 name a ttl 1.216s hold 4ms foreign
at 1ms node-clock n2 by -83150664.118s
