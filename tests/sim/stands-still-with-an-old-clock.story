# A process that stands still after it has read its clock
# p2 reads its clock, stands still for longer than its lease, and then reads the
# grant of the last node that it needs: by the clock that it has read there is time
# left. It is told OK of what is lost, as it would be after standing still there.
nodes 3
processes 2
seed 5003350
regime clocks-right-rates
max_ttl 8.921s
node_timeout 434ms
delay 200us
jitter 170us
late 11299ppm by 4.479s
shatter 10132ppm
wall n1 3.931s
calm 47.567s
turn p1 name a think 3.35s ttl 5.985s hold 3.46s permits 2
turn p1 name a think 12.7s ttl 4.305s hold 5ms permits 2
turn p2 name a think 2.34s ttl 3.114s hold 3.07s permits 2
turn p2 name a ttl 2.892s hold 3.2s permits 2
turn p2 name a think 155ms ttl 5.206s hold 5.48s
turn p2 name a ttl 7.285s hold 4.74s
turn p2 name a ttl 7.445s hold 7.75s
turn p2 name a ttl 8.682s hold 6.68s permits 2
turn p2 name a ttl 5.143s hold 9.02s
turn p2 name a think 1ms ttl 4.706s permits 2 blocking
at 5.54s ghost p2 n3 by 9.87ms for 0s
at 6.89s pause-midway p1 for 19.8s
at 10.4s ghost p2 n2 by 23.8ms for 0s
at 10.4s ghost p2 n1 by 114ms for 0s
at 13.633s cut n3
at 23.871s cut n3
at 44.887s pause-midway p2 for 2.68s
