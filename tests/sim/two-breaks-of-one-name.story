# Two breaks take one name, one after the other, and are given up
# The second gives the name back to the first, which is no owner of its value;
# the first gives it back to the holder.
store local
processes 2
seed 1484
regime local
max_ttl 137ms
node_timeout 13ms
quarantine off
delay 200us
jitter 0s
calm 4ms
turn p1 name a think 1.1ms ttl 137ms break
turn p2 name a think 2ms wait 44ms ttl 137ms break
turn p2.3 name a ttl 137ms hold 1.34ms
