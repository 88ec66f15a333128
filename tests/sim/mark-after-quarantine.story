# A try comes when the quarantine of a node ends
# While that node is examined anew it must be waited for, or the mark that it
# lacks is not written back to it.
nodes 3
processes 3
seed 2001039
regime amnesia-quarantined
max_ttl 26.226s
node_timeout 50ms
delay 200us
jitter 0s
calm 26.297s
turn p1 name b think 4ms ttl 12.549s once 103.134s
turn p2 name a think 4ms ttl 8.312s
turn p2 name a think 10.6s ttl 14.253s once 103.134s
turn p3 name a ttl 14.116s once 103.134s
at 0s empty n1 for 1ms
at 4ms stop n3 for 2.77s
at 7.967s reboot p2 for 8.23s
