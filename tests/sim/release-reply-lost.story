# A release is repeated, since its reply was lost
# The repetition is denied: p3 cannot know if it freed the lock.
nodes 1
processes 6
seed 900
regime clocks-right-rates
max_ttl 777ms
node_timeout 7ms
delay 81us
jitter 118us
rate p6 -1629ppm
calm 1.916362s
turn p3 name a,b think 2ms ttl 625ms hold 205ms
turn p3.3 name a think 997ms ttl 375ms hold 146ms
turn p6 name a think 329ms ttl 222ms hold 63ms
turn p6.2 name a ttl 289ms hold 877ms
turn p6.2 name a ttl 588ms hold 50ms
at 1.04s pause-midway p6 for 567ms
at 1.916362s cut p3 n1
