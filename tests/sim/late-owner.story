# The first request of an owner that a node executes comes late
# It came by a connection that is closed: what it leaves behind at that node
# lasts as long as its lease, and breaks nothing.
nodes 5
processes 5
seed 2012568
regime restart-durable
max_ttl 3.158s
node_timeout 556ms
delay 200us
jitter 67us
late 620ppm by 2.708s
calm 8.78s
turn p1 name b think 1.24s ttl 2.586s hold 4ms
turn p1 name b think 358ms ttl 2.344s
turn p2 name a think 3.33s ttl 1.692s
turn p2 name a think 2.85s ttl 1.758s permits 3
turn p2.2 name b think 2.01s ttl 2.64s
turn p2.2 name b think 1.17s ttl 1.177s foreign
turn p4.3 name b think 1.5s ttl 2.939s hold 587ms
turn p4.3 name b ttl 2.422s foreign
turn p5 name b think 1.11s ttl 1.377s hold 664ms
at 1.78s reboot p1 for 1.4s
at 2.175s crash p2 for 494ms
at 2.64s restart n5 for 2.36s
at 3.93s partition p1,n1,n2 for 1.04s
at 3.93s restart n2 for 1ms
at 3.948s full n2 for 2.36s
at 5.04s full n5 for 1.89s
at 5.183s stop n1 for 2.36s
at 6.48s stop n3 for 2.23s
at 6.73s stop n4 for 1.97s
at 7.07s full n5 for 1s
at 7.112s cut p2 n3
