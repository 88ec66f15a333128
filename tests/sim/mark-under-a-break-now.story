# A mark by a holder whose lock was broken without a wait
# p1's break frees the name at once. p5, which does not know it yet, marks the
# period and starts its command; p6 got the name, and has looked before that
# mark was there. Until p5's deadline two may run.
nodes 5
processes 6
seed 202308775
regime network
max_ttl 482ms
node_timeout 15ms
delay 200us
jitter 26us
shatter 1332ppm
host p3 p1
host p5 p1
host p6 p1
calm 1.574s
turn p1 name a think 7ms ttl 186ms
turn p1 name a think 1.06s ttl 252ms
turn p1 name a ttl 263ms break-now
turn p4 name a ttl 256ms hold 1ms
turn p5 name a ttl 342ms
turn p5 name a ttl 440ms
turn p5 name a think 497ms ttl 297ms
turn p5 name a ttl 444ms once 3.833s
turn p6 name a think 3ms ttl 181ms
turn p6 name a think 1.26s ttl 126ms
turn p6 name a ttl 361ms once 3.833s
at 0s crash p5 for 3ms
at 4ms reboot p3 for 110ms
at 4ms deafness p5 n4 for 516ms
at 611ms deafness p5 for 466ms
at 1.09s silence p5 for 70ms
at 1.09s stop n3 for 484ms
at 1.09s stop n4 for 472ms
at 1.151s reboot p6 for 1ms
at 1.152s deafness n2 for 1ms
at 1.153s stop n2 for 146ms
