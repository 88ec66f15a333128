# A waiter that is killed before it has a socket
# p1 is killed when it is in the queue for b and cannot be woken yet. p2 releases b,
# and p1 is given it: nothing is sent, so p2 looks whether p1 is still there.
store local
processes 2
seed 107850
regime local
max_ttl 125ms
node_timeout 41ms
quarantine off
delay 200us
jitter 0s
calm 214ms
turn p1 name a ttl 125ms hold 65ms
turn p1 name b think 1ms ttl 125ms
turn p2 name a ttl 125ms
turn p2 name b think 77.2ms ttl 125ms hold 59ms
at 40ms kill-in-call p1 number 1 for 0s
at 68ms pause p1 for 145ms
at 68ms kill-in-call p1 number 16 for 0s

