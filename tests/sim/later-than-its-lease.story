# A request that comes later than the lease it asks for
# A partition delays ACQUIREs of p3 for longer than their lease. When n2 executes
# them, p3 has stopped to repeat its RELEASE, and the lock stays until it expires.
nodes 5
processes 5
seed 283857060
regime network
max_ttl 809ms
node_timeout 32ms
delay 200us
jitter 962us
late 26017ppm by 79ms
calm 927ms
turn p3 name a ttl 809ms permits 2
turn p3 name a think 71ms ttl 809ms permits 2
turn p5 name a ttl 809ms
turn p5 name a think 199ms ttl 809ms
turn p5.2 name a ttl 809ms hold 755ms permits 2
at 14ms partition p2,p3,n1,n5 for 606ms
at 263ms cut p3 n2
at 441ms partition p2,p4,n1,n2,n4 for 418ms
