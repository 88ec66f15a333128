# A waiter gives up behind a lease that ended while the gate was taken
# Its RELEASE raises the counter of a name whose last owner is over: the record
# has no owner then.
store local
processes 5
seed 6316
regime local
max_ttl 27.264s
node_timeout 18ms
quarantine off
delay 200us
jitter 0s
calm 141.045s
turn p1 name a think 1ms ttl 27.264s
turn p1 name a ttl 27.264s hold 5.89s
turn p2 name a think 1ms ttl 27.264s
turn p2 name a think 7.63s ttl 27.264s hold 35.4s
turn p2 name a ttl 27.264s
turn p2 name a think 2.76s ttl 27.264s hold 25.4s permits 2
turn p3 name a think 1ms ttl 27.264s
turn p3 name a think 1.38s ttl 27.264s
turn p3 name a think 8.46s ttl 27.264s
turn p3 name a think 20.3s ttl 27.264s
turn p3 name a think 3.48s ttl 27.264s hold 22.9s permits 2
turn p4 name a think 1ms ttl 27.264s
turn p4 name a think 1.36s ttl 27.264s
turn p4 name a think 217ms ttl 27.264s permits 2
turn p4 name a think 78ms ttl 27.264s permits 2
turn p5 name a think 1ms ttl 27.264s
turn p5 name a think 394ms ttl 27.264s hold 1ms
turn p5 name a think 9.98s ttl 27.264s
at 2ms reboot p4 for 24s
at 20.7s deafness n1 for 9.38s
at 29.894s stop-in-call p5 number 13 for 39.1s
at 101.945s stop-in-call p4 number 24 for 39.1s
