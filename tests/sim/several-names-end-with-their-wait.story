# A wait for two names ends with its time when the server cannot be reached
# p3 is cut off. The pause before its next attempts is longer than its wait, which
# has to end meanwhile.
nodes 1
processes 3
seed 841
regime network
max_ttl 93ms
node_timeout 31ms
delay 200us
jitter 0s
calm 59ms
turn p3 name b,c wait 26ms ttl 47ms
at 1.6ms partition p1,p3 for 3ms
