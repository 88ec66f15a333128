# A mark that is withdrawn after a slow question
# The partition delays the question by 861 ms, and the mark has 564 ms left when
# the node answers it. Counted from the sending of the question the mark is over
# when the answer arrives, and yet it is to be withdrawn.
nodes 1
processes 1
seed 90491032
regime network
max_ttl 1.939s
node_timeout 397ms
queues off
delay 200us
jitter 0s
calm 865ms
turn p1 name a think 9ms ttl 1.939s once 1.426s
turn p1.2 name a ttl 1.939s hold 1ms once 1.426s withdraws
at 4ms partition p1 for 861ms
