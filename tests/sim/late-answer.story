# A renewal counts no answer to an earlier request
# p2 is paused while an answer is on its way. Heard later it proves no more than
# it did when it was asked for.
nodes 1
processes 3
seed 1009
regime network
max_ttl 7.571s
node_timeout 10ms
delay 200us
jitter 0s
calm 53s
turn p2 name a think 12.9s ttl 5.49s hold 6.07s extends 2
turn p3 name a think 6.53s ttl 4.69s hold 7.94s hands-on
turn p3 name a ttl 7.035s
at 15.3s deafness p1 for 2.73s
at 19.1s deafness p1 for 7.67s
at 26.5s pause p2 for 2.46s
at 29.7s pause p2 for 8.42s
